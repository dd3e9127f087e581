package command

import (
	"context"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// full has the store say that it uses 90 of 100 MB.
func (f *fixture) full() {
	f.server.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command == "INFO" {
			peer.WriteBulk("redis_version:7.2.4\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n" +
				"used_memory:94371840\r\nmaxmemory:104857600\r\n")
		}
		return command == "INFO"
	})
}

func (f *fixture) fullSentence() string {
	return "Redis at " + f.server.Addr() + " is 90 % full (90.0 of 100.0 MB), and takes no more messages from 85 % on (store_full_at)," +
		" so that those it has can be delivered: raise its maxmemory, or wait until messages are delivered and their records expire"
}

func TestPushToAFullStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	f.full()
	args := []string{"push", "--user", "alice", "--at", on22("12:12:12"), "--title", "Hi", "--id", "b", "--json"}
	got := f.run(t, args...)
	require.Equal(t, cli.StatusUnavailable, got.status)
	require.JSONEq(t, `{"outcome":"error","code":"store_full","id":"b","user":"alice","detail":"`+f.fullSentence()+`"}`, got.stdout)
	require.NotContains(t, f.everything(), "b/alice")
	said := f.run(t, args[:len(args)-1]...)
	require.Equal(t, "error: "+f.fullSentence()+"\n", said.stderr, "it is known that nothing was accepted")

	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi", "--id", "a")
	f.prints(t, "move", "a", "--user", "alice", "--at", on22("11:11:11"))
	moved := f.run(t, "move", "a", "--user", "alice", "--at", on22("13:13:13"))
	require.Equal(t, cli.StatusUnavailable, moved.status)
	require.Equal(t, "error: "+f.fullSentence()+"\n", moved.stderr)
	f.prints(t, "cancel", "a", "--user", "alice")
	f.prints(t, append(args, "--store-full-at", "95%")...)
}

func TestBulkToAFullStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "bulk", fileOf(t, messageLine("alice", "11:11:11")))
	f.full()
	path := fileOf(t, messageLine("alice", "11:11:11"), messageLine("alice", "11:11:12"), messageLine("alice", "12:12:12"), messageLine("alice", "13:13:13"))
	got := f.run(t, "bulk", path)
	require.Equal(t, cli.StatusUnavailable, got.status)
	require.Contains(t, got.stdout, "replayed    1")
	require.Contains(t, got.stdout, "refused     1")
	require.Contains(t, got.stdout, "errors      1  the store is full")
	require.Contains(t, got.stdout, "3 lines in ")
	require.Contains(t, got.stderr, "error: stopped at line 3: "+f.fullSentence()+
		"; continue with --from-line 3, or run it again: no line is accepted twice\n")
}

// The store that did not take a line has answered, as a rule.
func TestWhyLinesHaveNoOutcome(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the store is full": &fault.UnavailableError{Full: true, Detail: "Redis is full"},
		"the store did not confirm them, but may have stored them": store.Explain(context.DeadlineExceeded, "reserving"),
		"the store did not accept them":                            &fault.UnavailableError{Detail: "Redis wants a password"},
	} {
		require.Equal(t, want, failureOf(fmt.Errorf("submitting: %w", err)))
	}
	require.Equal(t, "the store did not confirm them, but may have stored them", failureOf(&fault.UnavailableError{
		Detail: "Redis has it on 0 of 1 replicas after 1s (wait_replicas): the request may have been carried out," +
			" and it is safe to send it again with the same id",
	}))
}
