package integration_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// delivery is a store with the default rules, a receiver of webhooks, and a submitter.
type delivery struct {
	*testing.T
	*submit.Submitter

	options  *redis.Options
	prefix   string // of all keys
	receiver *notifiertest.Receiver
	due      map[string]time.Time // for the message of each user
}

// newDelivery uses the store that clients with some options reach, which may be by a link.
func newDelivery(t *testing.T, options *redis.Options) *delivery {
	t.Helper()
	d := &delivery{T: t, options: options, receiver: notifiertest.NewReceiver(time.Now), due: map[string]time.Time{}}
	t.Cleanup(d.receiver.Close)
	client := d.client()
	seedDefaultPolicy(t, client)
	d.Submitter = d.submitter(client)
	return d
}

func seedDefaultPolicy(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	seedDefaultPolicyUnder(t, client, "")
}

// seedDefaultPolicyUnder makes the default rules those of the keys with a prefix.
func seedDefaultPolicyUnder(t *testing.T, client redis.UniversalClient, prefix string) {
	t.Helper()
	policies := settings.NewPolicies(client, keyspace.KeysUnder(prefix))
	_, err := policies.Seed(t.Context(), policy.Default())
	require.NoError(t, err)
}

// client connects as the programs do. The test closes it.
func (d *delivery) client() *redis.Client {
	d.Helper()
	o := *d.options
	o.PoolSize, o.ContextTimeoutEnabled, o.DialerRetries = 128, true, 1
	client := redis.NewClient(&o)
	d.Cleanup(func() { require.NoError(d, client.Close()) })
	return client
}

func (d *delivery) submitter(client redis.UniversalClient) *submit.Submitter {
	d.Helper()
	s, err := submit.New(taskstest.Open(d, client, backend.Options{Options: sendlimit.Options{Prefix: d.prefix}}), submit.Options{})
	require.NoError(d, err)
	d.Cleanup(func() { require.NoError(d, s.Close()) })
	return s
}

// work runs a worker until stop, or the end of the test.
func (d *delivery) work(client redis.UniversalClient) (stop func()) {
	d.Helper()
	channel, err := webhook.New(webhook.Config{URL: d.receiver.URL(), Now: time.Now})
	require.NoError(d, err)
	worker, err := tasks.NewWorker(taskstest.Open(d, client, backend.Options{Options: sendlimit.Options{Prefix: d.prefix}}), tasks.WorkerOptions{
		Notifier:    channel,
		PushTimeout: 20 * time.Second, // a push that a busy machine holds up would be repeated
		Retries:     retry.Policy{Min: 200 * time.Millisecond, Max: time.Second, Attempts: 5},
	})
	require.NoError(d, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(d, <-ended)
	})
	d.Cleanup(stop)
	return stop
}

// crowd submits a message to each of n users, for a random millisecond of a span that
// begins in a while.
func (d *delivery) crowd(n int, in, span time.Duration) {
	d.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		d.submit(in + time.Duration(random.Int64N(int64(span))))
	}
}

// submit submits a message to a user who has none yet. It returns the user.
func (d *delivery) submit(in time.Duration) (user string) {
	d.Helper()
	user = fmt.Sprintf("user-%d", len(d.due))
	at := time.Now().Add(in).UTC().Truncate(time.Millisecond)
	o, err := d.Submit(d.Context(), message.Message{ID: "m", User: user, SendAt: at, Title: user})
	require.NoError(d, err)
	require.Equal(d, message.Accepted, o.Outcome, "%+v", o)
	d.due[user] = at
	return user
}

// arrived waits until each user's message has arrived, and requires that each arrived once
// and not early. It returns how late each was.
func (d *delivery) arrived() map[string]time.Duration {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), time.Minute)
	defer cancel()
	requests, err := d.receiver.Wait(ctx, len(d.due))
	require.NoError(d, err)
	seen := map[string]time.Duration{}
	for _, r := range requests {
		p, err := r.Payload()
		require.NoError(d, err)
		require.NotContains(d, seen, p.User, "twice")
		seen[p.User] = r.Arrived.Sub(d.due[p.User])
		require.GreaterOrEqual(d, seen[p.User], time.Duration(0), "early")
	}
	require.Len(d, seen, len(d.due))
	late := slices.Sorted(maps.Values(seen))
	d.Logf("%d messages, late by %s (half), %s (99 %%), %s (all)", len(late), late[len(late)/2], late[len(late)*99/100], late[len(late)-1])
	return seen
}

// settled requires that each message has ended as delivered.
func (d *delivery) settled(client redis.UniversalClient) {
	d.Helper()
	keys, err := keyspace.NewKeys(d.prefix)
	require.NoError(d, err)
	for user := range d.due {
		require.Eventually(d, func() bool {
			state, err := client.HGet(d.Context(), keys.Record(user, "m"), "s").Result()
			return err == nil && state == "d"
		}, 60*time.Second, 10*time.Millisecond, user)
	}
}

// The same on a cluster, where a command on keys of two slots would fail, with a
// cancel, a move and a dry run.
func TestDeliveredOnACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.SharedCluster(t)
	d := &delivery{T: t, prefix: redistest.Prefix(t), receiver: notifiertest.NewReceiver(time.Now), due: map[string]time.Time{}}
	t.Cleanup(d.receiver.Close)
	seedDefaultPolicyUnder(t, cluster.Client(), d.prefix)
	d.Submitter = d.submitter(cluster.Client())
	d.work(cluster.Client())
	d.crowd(60, 4*time.Second, 2*time.Second)
	moved, cancelled := d.submit(time.Hour), d.submit(time.Hour)

	dryRun, err := d.StartDryRun(t.Context())
	require.NoError(t, err)
	again := message.Message{ID: "again", User: cancelled, SendAt: d.due[cancelled], Title: "again"}
	o, err := dryRun.Submit(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, "m", o.Violations[0].Conflicts[0].ID)
	require.NoError(t, dryRun.Close(t.Context()))

	o, err = d.Cancel(t.Context(), cancelled, "m")
	require.NoError(t, err)
	require.Equal(t, message.Cancelled, o.Outcome)
	delete(d.due, cancelled)
	d.due[moved] = time.Now().Add(2 * time.Second).UTC().Truncate(time.Millisecond)
	o, err = d.Move(t.Context(), moved, "m", d.due[moved])
	require.NoError(t, err)
	require.Equal(t, message.Moved, o.Outcome)

	d.arrived()
	d.settled(cluster.Client())
}
