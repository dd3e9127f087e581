package deliver

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
)

// permitAnswers changes the answers to the calls that acquire permits.
type permitAnswers struct {
	left   atomic.Int64 // how many more answers it changes
	change func(*redis.Cmd)
}

func (a *permitAnswers) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	err := next(ctx, cmd)
	if args := cmd.Args(); err == nil && len(args) > 1 && args[1] == lua.PermitsAcquire.Hash() && a.left.Add(-1) >= 0 {
		if answer, ok := cmd.(*redis.Cmd); ok {
			a.change(answer)
		}
	}
	return err
}

// newPacers returns the pacers of as many workers, each with its hook, under a pace.
func newPacers(t *testing.T, pace rate.Rate, hooks ...*permitAnswers) []*Pacer {
	t.Helper()
	server, client := redistest.Embedded(t)
	require.NoError(t, lua.PermitsAcquire.Load(t.Context(), client).Err()) // the hooks know its hash
	store, err := rate.NewPaces(client, keyspace.KeysUnder(""), PaceTarget)
	require.NoError(t, err)
	require.NoError(t, store.Apply(t.Context(), rate.Pace{Rate: pace}))
	pacers := make([]*Pacer, len(hooks))
	for i, hook := range hooks {
		own := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = own.Close() })
		own.AddHook(redistest.Commands(hook.onCommand))
		clock := storeclock.NewClocks(own, "")
		_, err := clock.Ask(t.Context())
		require.NoError(t, err)
		figures, err := metrics.New(prometheus.NewRegistry())
		require.NoError(t, err)
		pacers[i], err = NewPacer(own, PacerOptions{Target: PaceTarget}, clock, figures, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, pacers[i].look(t.Context()))
	}
	return pacers
}

// call makes one call as a delivery does, and returns when.
func (p *Pacer) call(t *testing.T) time.Time {
	t.Helper()
	for {
		held, err := p.pass(t.Context(), nil, sendlimit.Origin{})
		if err == nil {
			held, err = p.renew(t.Context(), nil, held, sendlimit.Origin{})
		}
		if err == nil && held.token != "" {
			return time.Now()
		}
		paced, ok := errors.AsType[*pacedError](err)
		if !ok {
			t.Errorf("no permit: %+v, %v", held, err)
			return time.Time{}
		}
		storeclock.Sleep(t.Context(), nil, paced.after)
	}
}

// On an overloaded machine every answer comes too late for a while, also those to the
// renewals. The calls that follow must not come on top of the late ones.
func TestLateCallsKeepThePace(t *testing.T) {
	t.Parallel()
	const workers, interval, late = 4, 300 * time.Millisecond, 200 * time.Millisecond
	hooks := make([]*permitAnswers, workers)
	for i := range hooks {
		hooks[i] = &permitAnswers{change: func(*redis.Cmd) { storeclock.Sleep(t.Context(), nil, late) }}
		hooks[i].left.Store(3)
	}
	var mu sync.Mutex
	var calls []time.Time
	var all sync.WaitGroup
	for _, p := range newPacers(t, rate.Rate{Count: workers, Interval: interval}, hooks...) {
		all.Go(func() {
			for range 3 {
				at := p.call(t)
				mu.Lock()
				calls = append(calls, at)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Len(t, calls, 3*workers)
	slices.SortFunc(calls, time.Time.Compare)
	for i := range calls[workers:] {
		require.GreaterOrEqual(t, calls[i+workers].Sub(calls[i]), interval, "call %d", i)
	}
}

// A refusal is no permit, whatever wait it names.
func TestARefusalWithoutAWaitIsNoPermit(t *testing.T) {
	t.Parallel()
	hook := &permitAnswers{change: func(answer *redis.Cmd) {
		reply, ok := answer.Val().([]any)
		if !ok {
			t.Errorf("answer %v", answer.Val())
			return
		}
		reply = slices.Clone(reply)
		reply[0], reply[5] = int64(0), int64(0)
		answer.SetVal(reply)
	}}
	hook.left.Store(1 << 40)
	p := newPacers(t, rate.Rate{Count: 1000, Interval: time.Second}, hook)[0]
	held, err := p.pass(t.Context(), nil, sendlimit.Origin{})
	var paced *pacedError
	require.ErrorAs(t, err, &paced)
	require.Empty(t, held.token)
}

// Replies tell whole milliseconds, so a clock that learned from one may be behind by that much. A
// permit is not used in the millisecond after its last.
func TestAPermitEndsByTheLatestTimeThatItMayBe(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC)
	local := last.Add(-time.Minute + 900*time.Microsecond)
	clock := storeclock.New()
	clock.Local = func() time.Time { return local }
	clock.Learn(local, local, local.Truncate(time.Millisecond))
	held := permit{token: "a", clock: clock, useBy: last}
	for _, row := range []struct {
		at time.Duration // after the last moment, by the server
		ok bool
	}{
		{-2 * time.Millisecond, true},
		{100 * time.Microsecond, false},
		{800 * time.Microsecond, false},
		{time.Second, false},
	} {
		local = last.Add(row.at)
		require.Equal(t, row.ok, held.inTime(), row.at)
	}
	require.True(t, permit{clock: clock, useBy: last}.inTime(), "without a pace")
}
