package integration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// pacedProvider accepts every message, and records when and from which worker.
type pacedProvider struct {
	mu    sync.Mutex
	times []time.Time
	by    map[int]int
}

type pacedChannel struct {
	provider *pacedProvider
	worker   int
}

func (c pacedChannel) Notify(context.Context, notifier.Notification) notifier.Result {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.provider.times = append(c.provider.times, time.Now())
	c.provider.by[c.worker]++
	return notifier.Result{Status: notifier.Delivered}
}

func (p *pacedProvider) seen() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.times...)
}

// pacing is a store with two workers.
type pacing struct {
	*testing.T

	client    redis.UniversalClient
	provider  *pacedProvider
	paces     *rate.Paces
	submitter *submit.Submitter
	sent      int
}

func newPacing(t *testing.T, pace rate.Pace, workers int) *pacing {
	t.Helper()
	p := &pacing{T: t, client: redistest.Shared(t).Client(), provider: &pacedProvider{by: make(map[int]int)}}
	policies, err := settings.NewPolicies(p.client, "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	p.paces, err = rate.NewPaces(p.client, "", deliver.PaceTarget)
	require.NoError(t, err)
	require.NoError(t, p.paces.Apply(t.Context(), pace))
	p.submitter, err = submit.New(taskstest.Open(t, p.client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	for w := range workers {
		worker, err := tasks.NewWorker(taskstest.Open(t, p.client, backend.Options{}), tasks.WorkerOptions{Notifier: pacedChannel{p.provider, w}})
		require.NoError(t, err)
		running.Go(func() {
			if err := worker.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
		require.NoError(t, p.submitter.Close())
	})
	return p
}

// submit submits messages to different users, due after a while. On a busy machine that has
// passed before all are submitted: the others are due soon.
func (p *pacing) submit(n int, after time.Duration) {
	p.Helper()
	at := time.Now().Add(after)
	for range n {
		p.sent++
		if soon := time.Now().Add(500 * time.Millisecond); at.Before(soon) {
			at = soon
		}
		o, err := p.submitter.Submit(p.Context(), message.Message{
			User: fmt.Sprintf("user-%d", p.sent), ID: "m", SendAt: at, Title: "Hello",
		})
		require.NoError(p, err)
		require.Equal(p, message.Accepted, o.Outcome)
	}
}

func (p *pacing) await(n int) []time.Time {
	p.Helper()
	require.Eventually(p, func() bool { return len(p.provider.seen()) >= n }, 60*time.Second, 10*time.Millisecond)
	return p.provider.seen()
}

func perSecond(n int64) rate.Rate { return rate.Rate{Count: n, Interval: time.Second} }

// Two workers together never exceed a rate in any second at the provider, by the clocks of a real
// server, and everything submitted is still delivered.
func TestPacingOfTwoWorkers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const wave = 600 // more than one worker takes in hand, so both take part
	p := newPacing(t, rate.Pace{Rate: perSecond(100)}, 2)
	p.submit(wave, 2*time.Second)
	times := p.await(wave)
	require.LessOrEqual(t, fullest(times, time.Second), 100)
	p.provider.mu.Lock()
	defer p.provider.mu.Unlock()
	require.Len(t, p.provider.by, 2)
}

// The store is killed in the middle of a paced crowd, and restarted.
func TestPacingWithTheStoreKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	client := server.Client()
	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	paces, err := rate.NewPaces(client, "", deliver.PaceTarget)
	require.NoError(t, err)
	require.NoError(t, paces.Apply(t.Context(), rate.Pace{Rate: perSecond(20), Burst: 5}))
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	p := &pacing{T: t, client: client, provider: &pacedProvider{by: make(map[int]int)}, paces: paces, submitter: submitter}
	worker, err := tasks.NewWorker(taskstest.Open(t, client, backend.Options{}), tasks.WorkerOptions{Notifier: pacedChannel{p.provider, 0}})
	require.NoError(t, err)
	p.submit(60, 2*time.Second)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, submitter.Close())
	})
	p.await(20)
	server.Kill()
	require.NoError(t, server.Restart(t.Context()))
	times := p.await(60)
	require.LessOrEqual(t, fullest(times, time.Second), 20)
}
