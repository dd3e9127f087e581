package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// pacedProvider accepts every message, and counts those of each worker.
type pacedProvider struct {
	mu  sync.Mutex
	all int
	by  map[int]int
}

type pacedChannel struct {
	provider *pacedProvider
	worker   int
}

func (c pacedChannel) Notify(context.Context, notifier.Notification) notifier.Result {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.provider.all++
	c.provider.by[c.worker]++
	return notifier.Result{Status: notifier.Delivered}
}

func (p *pacedProvider) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// pacing is a store with workers, which tell in spans when their calls begin.
type pacing struct {
	*testing.T

	client    redis.UniversalClient
	provider  *pacedProvider
	spans     *tracetest.SpanRecorder
	paces     *rate.Paces
	submitter *submit.Submitter
	sent      int
}

func newPacing(t *testing.T, client redis.UniversalClient, pace rate.Pace, workers int) *pacing {
	t.Helper()
	p := &pacing{T: t, client: client, provider: &pacedProvider{by: make(map[int]int)}, spans: tracetest.NewSpanRecorder()}
	traced := backend.Options{TracerProvider: sdk.NewTracerProvider(sdk.WithSpanProcessor(p.spans))}
	policies := settings.NewPolicies(p.client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	var err error
	p.paces, err = rate.NewPaces(p.client, keyspace.KeysUnder(""), deliver.PaceTarget)
	require.NoError(t, err)
	require.NoError(t, p.paces.Apply(t.Context(), pace))
	p.submitter, err = submit.New(taskstest.Open(t, p.client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	for w := range workers {
		worker, err := tasks.NewWorker(taskstest.Open(t, p.client, traced), tasks.WorkerOptions{Notifier: pacedChannel{p.provider, w}})
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

// await waits until the provider has got n messages, and returns when the calls with them began.
// The pace is that of the calls as they begin, by the last look at their permits. What a busy
// machine does after that makes a call arrive later, and says nothing about the pace. That nothing
// waits between the look and the call is judged in virtual time, by TestPaceOfAllWhereOneChannelIsFull.
func (p *pacing) await(n int) []time.Time {
	p.Helper()
	require.Eventually(p, func() bool { return p.provider.seen() >= n }, 60*time.Second, 10*time.Millisecond)
	var began []time.Time
	for _, span := range p.spans.Started() {
		if strings.HasPrefix(span.Name(), "push ") {
			began = append(began, span.StartTime())
		}
	}
	require.GreaterOrEqual(p, len(began), n, "each call has a beginning")
	return began
}

func perSecond(n int64) rate.Rate { return rate.Rate{Count: n, Interval: time.Second} }

// Two workers together never begin more calls than a rate in any second, by the clocks of a real
// server, and everything submitted is still delivered.
func TestPacingOfTwoWorkers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const wave = 600 // more than one worker takes in hand, so both take part
	p := newPacing(t, redistest.Shared(t).Client(), rate.Pace{Rate: perSecond(100)}, 2)
	p.submit(wave, 2*time.Second)
	require.LessOrEqual(t, fullest(p.await(wave), time.Second), 100)
	p.provider.mu.Lock()
	defer p.provider.mu.Unlock()
	require.Len(t, p.provider.by, 2)
}

// The store is killed in the middle of a paced crowd, and restarted.
func TestPacingWithTheStoreKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	p := newPacing(t, server.Client(), rate.Pace{Rate: perSecond(20), Burst: 5}, 1)
	p.submit(60, 2*time.Second)
	p.await(20)
	server.Kill()
	require.NoError(t, server.Restart(t.Context()))
	require.LessOrEqual(t, fullest(p.await(60), time.Second), 20)
}
