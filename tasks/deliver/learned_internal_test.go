package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/pipe"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// receiver accepts calls at a limit, from a bucket of tokens, and refuses the others.
type receiver struct {
	mu         sync.Mutex
	limit      float64 // calls in a second
	burst      float64 // in seconds of calls
	retryAfter time.Duration
	tokens     float64
	at         time.Time

	allowed, accepted, refused float64 // since the last look
}

// call is one call, and its answer.
func (r *receiver) call() notifier.Result {
	time.Sleep(20 * time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	if r.tokens < 1 {
		r.refused++
		return notifier.Result{
			Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, Pause: notifier.PauseChannel, RetryAfter: r.retryAfter,
		}
	}
	r.tokens--
	r.accepted++
	return notifier.Result{Status: notifier.Delivered}
}

func (r *receiver) pass() {
	now := time.Now()
	come := now.Sub(r.at).Seconds() * r.limit
	r.at, r.allowed = now, r.allowed+come
	r.tokens = min(max(1, r.burst*r.limit), r.tokens+come)
}

// look returns which part of the limit was used since the last look, and which part of the calls was
// refused.
func (r *receiver) look() (used, refused float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	used, refused = r.accepted/r.allowed, r.refused/(r.accepted+r.refused)
	r.allowed, r.accepted, r.refused = 0, 0, 0
	return used, refused
}

// limited runs workers that always have calls for a receiver.
func limited(t *testing.T, r *receiver, workers, callers int) {
	t.Helper()
	server := miniredis.NewMiniRedis()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			piped, err := server.Dial()
			if err != nil {
				return nil, err
			}
			return pipe.Buffered(piped), nil
		},
		PoolSize: 2048, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		require.NoError(t, client.Close())
		server.Close()
	})
	for range workers {
		clock := storeclock.NewClocks(client, "")
		_, err := clock.Ask(t.Context())
		require.NoError(t, err)
		p, err := NewPacer(client, PacerOptions{Target: PaceTarget}, clock, nil, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		looks := job.NewLooks(client, clock.Clock)
		t.Cleanup(looks.Start(ctx))
		stop, err := p.Follow(ctx, looks, func(context.Context) error { return nil })
		require.NoError(t, err)
		t.Cleanup(stop)
		for range callers {
			running.Go(func() {
				for ctx.Err() == nil {
					held, err := p.pass(ctx, nil, sendlimit.Origin{})
					if paced, ok := errors.AsType[*pacedError](err); ok {
						storeclock.Sleep(ctx, nil, paced.after)
					} else if err == nil {
						if result := r.call(); result.Status == notifier.SlowDown {
							p.slowDown(result, held)(ctx)
						}
					}
				}
			})
		}
	}
}

// Workers find the limit of a receiver and stay just below it, also when it changes.
func TestALimitIsLearned(t *testing.T) {
	t.Parallel()
	type stage struct {
		limit float64       // calls in a second
		after time.Duration // until the workers have found it
	}
	const soon = 10 * time.Second
	for workers, stages := range map[int][]stage{
		1: {{50, soon}},
		2: {{5000, soon}},
		4: {{400, soon}, {50, soon}, {400, time.Minute}},
	} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{burst: .05, retryAfter: time.Second, at: time.Now()}
				for i, stage := range stages {
					r.look()
					r.limit = stage.limit
					if i == 0 {
						limited(t, r, workers, max(100, int(stage.limit/20)))
					}
					time.Sleep(stage.after)
					r.look()
					time.Sleep(25 * time.Second)
					used, refused := r.look()
					require.Greater(t, used, .85, "%+v", stage)
					require.Less(t, refused, .02, "%+v", stage)
				}
			})
		})
	}
}

// Refusals that may concern one device lower the rate only if they are of several users, and of several
// accounts if several send.
func TestUnclearRefusalsOfOneAccountSlowDownNoOther(t *testing.T) {
	t.Parallel()
	hook := &permitAnswers{}
	p := newPacers(t, rate.Rate{Count: 1000, Interval: time.Second}, hook)[0]
	set, err := channels.NewSet(p.client, keyspace.KeysUnder(""), []channels.Setup{{Name: notifier.ChannelAPNs, Notifier: notifiertest.NewRecorder(time.Now), HasDevices: true}},
		time.Second, p.clock, p.metrics, p.logger)
	require.NoError(t, err)
	channel := set.All()[0]
	refused := func(account string, user int) bool {
		m := channels.Sent{Account: account, User: fmt.Sprint(user)}
		channel.Sends(m, p.clock.Now())
		return p.refusedUnclearly(channel, m, permit{generation: p.learned.Generation}) != nil
	}
	for user := range 5 {
		require.False(t, refused("acme", user), "the target limits no calls, as far as is known")
	}
	p.learned.Learned = rate.Learned{Generation: 1, Rate: 10, Refused: 20}
	require.Equal(t, []bool{false, false, false, true}, []bool{refused("acme", 1), refused("acme", 2), refused("acme", 2), refused("acme", 3)})
	channel.Sends(channels.Sent{Account: "other", User: "bob"}, p.clock.Now())
	for user := range 9 {
		require.False(t, refused("acme", user))
	}
	require.True(t, refused("other", 9))
}
