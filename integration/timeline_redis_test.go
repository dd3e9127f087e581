package integration_test

import (
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// What only a real Redis shows: how it treats unknown scripts, and how it orders texts.

// noon returns a time after the server's own clock, so that nothing expires meanwhile.
func noon() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(60 * time.Hour) }

func newTimeline(t *testing.T, client redis.Scripter, o sendlimit.Options, rules ...string) *sendlimit.Timeline {
	t.Helper()
	if len(rules) > 0 {
		p, err := policy.Parse("test", "", rules...)
		require.NoError(t, err)
		o.Rules = story.RulesBy(t, p)
	}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	return timeline
}

func defaultKeys(t *testing.T) keyspace.Keys {
	t.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	return keys
}

func mustReserve(t *testing.T, timeline *sendlimit.Timeline, r sendlimit.Request) sendlimit.Decision {
	t.Helper()
	d, err := timeline.Reserve(t.Context(), r)
	require.NoError(t, err)
	return d
}

// In a pipeline, a script that the server does not know fails, and the commands after
// it are done before it is repeated: the second of two lines of a user got the place.
// So scripts are loaded first, and only one line of a user is in flight.
func TestAnUnknownScriptFailsInAPipeline(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	pipelined := func() []error {
		pipe := client.Pipeline()
		for _, script := range lua.All() {
			pipe.EvalSha(t.Context(), script.Hash(), []string{"k"}) // the wrong number of arguments for each
		}
		commands, err := pipe.Exec(t.Context())
		require.Error(t, err)
		var errs []error
		for _, command := range commands {
			errs = append(errs, command.Err())
		}
		return errs
	}
	for _, err := range pipelined() {
		require.ErrorContains(t, err, "NOSCRIPT")
	}
	for _, script := range lua.All() {
		require.NoError(t, script.Load(t.Context(), client).Err())
	}
	for _, err := range pipelined() {
		require.ErrorContains(t, err, "wrong number of keys or arguments")
	}

	// The server loses its scripts on the way (a restart, a failover). Each call
	// repeats itself, in order, because a user's next line waits for it.
	pipeline, err := client.AutoPipeline()
	require.NoError(t, err)
	defer pipeline.Close()
	timeline := newTimeline(t, pipeline, sendlimit.Options{})
	now := noon()
	for round := range 20 {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		var users sync.WaitGroup
		for u := range 8 {
			users.Go(func() {
				user := fmt.Sprintf("user-%d-%d", round, u)
				for line, allowed := range []bool{true, false, true} {
					at := now.Add(time.Duration(line) * 30 * time.Second)
					d, err := timeline.Reserve(t.Context(), sendlimit.Request{User: user, ID: fmt.Sprintf("line-%d", line), At: at, Now: now})
					if err != nil || d.Allowed != allowed {
						t.Errorf("%s, line %d: %v, %+v", user, line, err, d)
					}
				}
			})
		}
		users.Wait()
	}
}

// A list continues after an id in the order of the sorted set, byte by byte, even if
// the server's locale has "a" before "B".
func TestListUnderAnyLocale(t *testing.T) {
	redistest.NeedServer(t)
	folder := t.TempDir()
	localedef := exec.CommandContext(t.Context(), "localedef", "-i", "en_US", "-f", "UTF-8", folder+"/en_US.UTF-8")
	if output, err := localedef.CombinedOutput(); err != nil {
		t.Skipf("no locale to test with: %v %s", err, output)
	}
	t.Setenv("LOCPATH", folder)
	t.Setenv("LC_ALL", "en_US.UTF-8")
	client := redistest.Real(t).Client()
	less, err := client.Eval(t.Context(), "return {'B' < 'a' and 1 or 0}", nil).Int64Slice()
	require.NoError(t, err)
	require.Equal(t, []int64{0}, less, "the server's locale is not the one asked for")

	timeline, now := newTimeline(t, client, sendlimit.Options{}, "100/minute"), noon()
	ids := []string{"-b", "A", "B", "B-1", "B1", "_a", "a", "aB", "ab", "b"}
	for _, id := range ids {
		require.True(t, mustReserve(t, timeline, sendlimit.Request{User: "alice", ID: id, At: now, Now: now}).Allowed)
	}
	var listed []string
	var after keyspace.Reservation
	for {
		page, err := timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", After: after, Limit: 1, Now: now})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0]
		listed = append(listed, after.ID)
		require.LessOrEqual(t, len(listed), len(ids))
	}
	require.Equal(t, ids, listed)
}
