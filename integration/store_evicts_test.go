package integration_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// A Redis begins to evict while a relay runs. Nothing more is accepted, and afterwards the relay says
// what is lost: nothing that is left counts as pending without being sent.
func TestAStoreThatBeginsToEvict(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t)
	client := server.Client()
	seedDefaultPolicy(t, client)
	var log output.Buffer
	b := taskstest.Open(t, client, backend.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	submitter, err := submit.New(b, submit.Options{})
	require.NoError(t, err)
	defer submitter.Close()
	accept := func(n int) {
		for i := range n {
			o, err := submitter.Submit(t.Context(), message.Message{
				ID: "m", User: fmt.Sprint("user-", i), SendAt: time.Now().Add(time.Hour), Title: "t", Body: strings.Repeat("x", 1000),
			})
			require.NoError(t, err)
			require.Equal(t, message.Accepted, o.Outcome)
		}
	}
	const messages = 2000
	accept(messages)
	relay, err := tasks.NewRelay(b, tasks.RelayOptions{RelayEvery: 100 * time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()
	logged := func(words string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(log.String(), words) }, time.Minute, 50*time.Millisecond, "no %q in %s", words, &log)
	}
	set := func(name, value string) { require.NoError(t, client.ConfigSet(t.Context(), name, value).Err()) }
	set("maxmemory-policy", "allkeys-random")
	logged(`"level":"ERROR","msg":"the store deletes keys when its memory is full, so nothing is accepted"`)
	requireUnfit(t, submitter)

	set("maxmemory", "4mb")
	require.Eventually(t, func() bool { // each write makes room
		require.NoError(t, client.Set(t.Context(), "other", "x", time.Second).Err())
		servers, err := store.ReadMemory(t.Context(), client)
		require.NoError(t, err)
		return servers[0].Evicted > 500
	}, time.Minute, time.Millisecond)
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "0")
	logged(`"msg":"the store has evicted keys, and accepted messages are lost: submit them again, as from their files","servers":1,"lost":`)
	require.NotContains(t, log.String(), "user-", "no line above debug names a user")
	logged("the store deletes no keys any more: messages are accepted again")
	require.Eventually(t, func() bool {
		pending, err := b.Watch.Pending(t.Context())
		require.NoError(t, err)
		records, err := client.Eval(t.Context(), "return #redis.call('KEYS', 'sl:{p*}:m:*')", nil).Int()
		require.NoError(t, err)
		return pending == records && records < messages
	}, time.Minute, 100*time.Millisecond)
}

// requireUnfit waits until submits are refused, as they are after two seconds.
func requireUnfit(t *testing.T, submitter *submit.Submitter) {
	t.Helper()
	var err error
	tries := 0
	require.Eventually(t, func() bool {
		tries++ // a rule would refuse another message to the same user
		_, err = submitter.Submit(t.Context(), message.Message{User: fmt.Sprint("other-", tries), SendAt: time.Now().Add(2 * time.Hour), Title: "t"})
		return err != nil
	}, time.Minute, 100*time.Millisecond)
	unfit, ok := errors.AsType[*fault.UnavailableError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, fault.CodeStoreUnfit, unfit.Code())
}

// One master of a cluster that evicts is enough.
func TestAMasterThatBeginsToEvict(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	seedDefaultPolicy(t, cluster.Client())
	submitter, err := submit.New(taskstest.Open(t, cluster.Client(), backend.Options{}), submit.Options{})
	require.NoError(t, err)
	defer submitter.Close()
	set := func(policy string) {
		require.NoError(t, cluster.Nodes[lastNode].Client().ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
	}
	set("volatile-ttl")
	requireUnfit(t, submitter)
	set("noeviction")
	require.Eventually(t, func() bool {
		o, err := submitter.Submit(t.Context(), message.Message{User: "bob", SendAt: time.Now().Add(time.Hour), Title: "t"})
		return err == nil && o.Outcome == message.Accepted
	}, time.Minute, 100*time.Millisecond)
}
