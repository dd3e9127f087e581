package tasks_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

// pace gives the target a pace; "" removes it.
func (s *story) pace(rateText string, burst int64) {
	s.Helper()
	pace := rate.Pace{Burst: burst}
	if rateText != "" {
		var err error
		pace.Rate, err = rate.Parse(rateText)
		require.NoError(s, err)
	}
	require.NoError(s, s.paces().Apply(s.Context(), pace))
}

func (s *story) paces() *rate.Paces {
	s.Helper()
	paces, err := rate.NewPaces(s.client, keyspace.KeysUnder(""), deliver.PaceTarget)
	require.NoError(s, err)
	return paces
}

// crowd submits messages to as many users, all for the same time.
func (s *story) many(users int, after time.Duration) {
	s.Helper()
	for i := range users {
		m := s.message("m", after)
		m.User = fmt.Sprintf("user-%d", i)
		s.accepted(m)
	}
}

// sentAt are the times at which messages reached the provider, in order.
func (s *story) sentAt() []time.Duration {
	s.Helper()
	var times []time.Duration
	for _, d := range s.recorder.Deliveries() {
		times = append(times, d.At.Sub(s.began))
	}
	slices.Sort(times)
	return times
}

// most is how many of the times lie in the fullest window of a length.
func most(times []time.Duration, window time.Duration) int {
	fullest := 0
	for i := range times {
		n := 0
		for n < len(times)-i && times[i+n] < times[i]+window {
			n++
		}
		fullest = max(fullest, n)
	}
	return fullest
}

// Two workers share the rate; nothing is lost, and nobody waits for longer than
// it takes.
func TestPaceOverAllWorkers(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("10/second", 0)
		s.work()
		s.work()
		s.many(60, 2*time.Second)
		s.until(11 * time.Second)
		sent := s.sentAt()
		require.Len(s, sent, 60)
		require.Equal(s, 10, most(sent, time.Second))
		require.Less(s, sent[59], 9500*time.Millisecond)
		require.Zero(s, s.queued())
	})
}

func TestPaceOfBursts(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("20/second", 4)
		s.work()
		s.work()
		s.many(60, 2*time.Second)
		s.until(8 * time.Second)
		sent := s.sentAt()
		require.Len(s, sent, 60)
		require.LessOrEqual(s, most(sent, 45*time.Millisecond), 4)
		require.LessOrEqual(s, most(sent, 95*time.Millisecond), 4+1)
		require.LessOrEqual(s, most(sent, time.Second), 20)
		require.Less(s, sent[59], 7*time.Second)
	})
}

// Another pace holds while workers run, and within seconds for those that wait
// already; so does none.
func TestPaceChangesWhileWorkersRun(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work()
		s.many(20, 2*time.Second)
		s.until(3 * time.Second)
		require.Len(s, s.sentAt(), 20, "without a pace all at once")
		s.pace("1/minute", 0)
		s.until(5 * time.Second)

		for i := range 40 {
			m := s.message("later", 7*time.Second)
			m.User = fmt.Sprintf("other-%d", i)
			s.accepted(m)
		}
		s.until(20 * time.Second)
		require.Len(s, s.sentAt(), 21)
		s.pace("10/second", 0)
		s.until(90 * time.Second)
		sent := s.sentAt()
		require.Len(s, sent, 60)
		require.LessOrEqual(s, most(sent[20:], time.Second), 10)
		s.pace("", 0)
		s.until(100 * time.Second)
		m := s.message("last", 101*time.Second)
		m.User = "last"
		s.accepted(m)
		s.until(102 * time.Second)
		require.Len(s, s.sentAt(), 61)
	}, "100/minute")
}

// What waits for its pace follows another one within two seconds, in every worker: the
// messages that went back to the queue, and those that a worker holds. So it does when
// the pace is removed. The race detector watches one row.
func TestWaitingMessagesFollowAnotherPace(t *testing.T) {
	t.Parallel()
	const follow = 2 * time.Second
	for name, row := range map[string]struct {
		from, to string
		burst    int64
		most     int // in a second of the new pace
	}{
		"raised":             {from: "1/minute", to: "100/second", most: 100},
		"raised, held tasks": {from: "1/4s", to: "100/second", burst: 10, most: 100},
		"removed":            {from: "1/minute", to: "", most: 700},
	} {
		t.Run(name, func(t *testing.T) {
			if row.burst == 0 {
				sendlimittest.Long(t)
			}
			tell(t, func(s *story) {
				const crowd = 560 // more than a worker handles at a time
				s.pace(row.from, 0)
				s.work()
				s.work()
				s.many(crowd, 2*time.Second)
				const changed = 10*time.Second + 300*time.Millisecond
				s.until(changed)
				before := len(s.sentAt())
				require.LessOrEqual(s, before, 3)
				s.pace(row.to, row.burst)
				takes := time.Duration(crowd/row.most) * time.Second
				s.until(changed + min(takes, 10*time.Second) + follow)
				sent := s.sentAt()
				require.GreaterOrEqual(s, len(sent), min(crowd, before+10*row.most))
				require.Less(s, sent[before], changed+follow)
				require.LessOrEqual(s, most(sent[before:], time.Second), row.most)
			})
		})
	}
}

// A pause that is ended early is over for what waits, too.
func TestWaitingMessagesFollowTheEndOfAPause(t *testing.T) {
	tell(t, func(s *story) {
		_, err := s.paces().Pause(s.Context(), time.Hour)
		require.NoError(s, err)
		s.work()
		s.work()
		s.many(20, 2*time.Second)
		s.until(5 * time.Second)
		require.Empty(s, s.sentAt())
		require.NoError(s, s.paces().Resume(s.Context()))
		s.until(7 * time.Second)
		require.Len(s, s.sentAt(), 20)
	})
}

// A pause that was set while the store's clock was years ahead holds up nobody.
func TestAPauseOfAWrongClockIsNone(t *testing.T) {
	tell(t, func(s *story) {
		until := s.at(3 * 365 * 24 * time.Hour).UnixMilli()
		require.NoError(s, s.client.Set(s.Context(), "sl:{pace:push}:pause", until, 0).Err())
		s.work()
		s.many(20, 2*time.Second)
		s.until(3 * time.Second)
		require.Len(s, s.sentAt(), 20)
	})
}

// A target that says when to come again is left alone until then, by all
// workers, and no attempt is used up by waiting.
func TestPauseOfAllWorkers(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]notifier.Result{
		"retry": {Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: 90 * time.Second},
		"slow down": {
			Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: 90 * time.Second, Pause: notifier.PauseChannel,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pauseOfAllWorkers(t, asks)
		})
	}
}

func pauseOfAllWorkers(t *testing.T, asks notifier.Result) {
	t.Helper()
	tellSlowly(t, func(s *story) {
		s.recorder.Script(asks)
		s.work()
		s.work()
		s.accepted(s.message("first", 2*time.Second))
		s.until(3 * time.Second) // no more than a second later all know
		s.until(4 * time.Second)
		s.many(20, 5*time.Second)
		s.until(91 * time.Second)
		require.Len(s, s.sentAt(), 1)
		s.until(4 * time.Minute)
		sent := s.sentAt()
		require.Len(s, sent, 22)
		require.GreaterOrEqual(s, sent[1], 92*time.Second)
		require.Equal(s, "1", s.record("user-7", "m")["n"], "waiting is no attempt")
		require.Equal(s, "1", s.record("alice", "first")["n"], "a refusal of too many calls is none either")
		require.Zero(s, s.queued())
	}, "100/minute")
}

// A message that must wait for long has no delivery slot meanwhile, and ends
// with the worker at once when that stops.
func TestPacedMessagesHaveNoSlot(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("1/30s", 0)
		stop := s.work(func(o *tasks.WorkerOptions) { o.Deliveries = 1 })
		s.many(3, 2*time.Second)
		s.until(4 * time.Second)
		require.Len(s, s.sentAt(), 1)
		s.pace("", 0)
		s.until(70 * time.Second)
		require.Len(s, s.sentAt(), 3)
		s.pace("1/30s", 0)
		s.until(72 * time.Second)
		for i := range 5 {
			m := s.message("stop", 73*time.Second)
			m.User = fmt.Sprintf("stop-%d", i)
			s.accepted(m)
		}
		s.until(74 * time.Second)
		began := time.Now()
		stop()
		require.Less(s, time.Since(began), 3*time.Second)
		require.Len(s, s.sentAt(), 4)
	}, "100/minute")
}

// slowAnswers holds so many answers of the store up, which are the first.
type slowAnswers struct {
	to    string // hash of the script; "" for every command
	left  atomic.Int64
	takes time.Duration
}

func (a *slowAnswers) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	err := next(ctx, cmds)
	a.holdUp(cmds...)
	return err
}

// holdUp holds up the answer of a round trip if one of its commands is among the first.
func (a *slowAnswers) holdUp(cmds ...redis.Cmder) {
	slow := false
	for _, cmd := range cmds {
		args := cmd.Args()
		if a.to == "" || len(args) > 1 && args[1] == a.to {
			slow = a.left.Add(-1) >= 0 || slow
		}
	}
	if slow {
		time.Sleep(a.takes)
	}
}

// A claim that took long makes no call late enough to come on top of those that
// have the permits of the next second.
func TestPaceOfCallsWhoseClaimTakesLong(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("10/second", 0)
		slow := &slowAnswers{to: lua.Claim.Hash(), takes: 900 * time.Millisecond}
		slow.left.Store(10)
		s.hook = redistest.Calls(slow.onCall)
		s.work()
		s.many(40, 2*time.Second)
		s.until(20 * time.Second)
		sent := s.sentAt()
		require.Len(s, sent, 40)
		require.LessOrEqual(s, most(sent, time.Second), 10)
		require.Zero(s, s.queued())
	})
}

// Where every answer takes longer than a permit may wait, messages are sent all the
// same. The queue may take too long for one that is given back: the relay finds it.
func TestPaceWhereTheStoreIsFarAway(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("10/second", 5)
		slow := &slowAnswers{takes: 120 * time.Millisecond}
		slow.left.Store(math.MaxInt64)
		s.hook = redistest.Calls(slow.onCall)
		s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = 5 * time.Second })
		s.many(20, 2*time.Second)
		s.until(time.Minute)
		sent := s.sentAt()
		require.Len(s, sent, 20)
		require.LessOrEqual(s, most(sent, time.Second), 10)
		require.Zero(s, s.queued())
	})
}

// What a claim does not send costs no permit: a cancelled message's task is
// stale.
func TestPaceGivesBackWhatIsNotSent(t *testing.T) {
	tell(t, func(s *story) {
		s.pace("2/hour", 1)
		for i := range 5 {
			m := s.message("gone", 2*time.Second)
			m.User = "alice"
			m.ID = fmt.Sprintf("gone-%d", i)
			s.accepted(m)
			s.cancelled(m.ID)
		}
		s.work()
		s.until(10 * time.Second)
		require.Empty(s, s.sentAt())
		s.accepted(s.message("kept", 12*time.Second))
		s.until(13 * time.Second)
		s.delivered("kept +12s")
		keys, err := s.client.Keys(s.Context(), "sl:{pace:push}:permits").Result()
		require.NoError(s, err)
		require.Len(s, keys, 1)
		require.Equal(s, int64(1), s.client.ZCard(s.Context(), keys[0]).Val())
	}, "100/minute")
}

// What a pause has made late is judged by the gate as everything late is: it does
// not burst on a user.
func TestPauseKeepsTheRulesOfLateMessages(t *testing.T) {
	tellSlowly(t, func(s *story) {
		_, err := s.paces().Pause(s.Context(), 40*time.Second)
		require.NoError(s, err)
		s.work()
		s.accepted(s.message("a", 2*time.Second), s.message("b", 12*time.Second), s.message("c", 22*time.Second))
		s.until(5 * time.Minute)
		sent := s.sentAt()
		require.Len(s, sent, 3)
		require.GreaterOrEqual(s, sent[0], 40*time.Second)
		require.Equal(s, 1, most(sent, 10*time.Second-time.Millisecond), "%v", sent) // told in milliseconds
	}, "1/10s")
}

// Without a pace a delivery makes no call for it.
func TestPaceCostsNothingWithoutOne(t *testing.T) {
	tell(t, func(s *story) {
		calls := &scriptCalls{of: []string{lua.PermitsAcquire.Hash(), lua.TokensTake.Hash(), lua.PermitsGiveBack.Hash()}}
		s.hook = redistest.Commands(calls.onCommand)
		s.work()
		s.many(5, 2*time.Second)
		s.until(3 * time.Second)
		require.Len(s, s.sentAt(), 5)
		require.Zero(s, calls.made)
	})
}

// scriptCalls counts calls of scripts.
type scriptCalls struct {
	of   []string
	made int
}

func (c *scriptCalls) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if args := cmd.Args(); len(args) > 1 && slices.Contains(c.of, fmt.Sprint(args[1])) {
		c.made++
	}
	return next(ctx, cmd)
}
