package tasks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// horizon gives the programs that the story makes from now on a horizon, and the story such
// a submitter.
func (s *story) horizon(h time.Duration) {
	s.Helper()
	s.shared.Horizon = h
	s.Submitter = s.newSubmitter(submit.Options{})
}

// What is due later than the horizon is in the schedule alone. A cancel or a move of it
// leaves nothing behind, and the queue gets it once, when its time is near.
func TestFarMessagesAreNotInTheQueue(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.horizon(2 * time.Minute)
		s.accepted(s.message("a", 5*time.Minute), s.message("b", 2*time.Hour), s.message("near", 2*time.Minute))
		require.Equal(s, 1, s.queued(), "only what is near")
		s.moved("a", 3*time.Hour)
		s.cancelled("b")
		require.Equal(s, 1, s.queued())
		require.Len(s, s.watched("alice"), 2)
		s.moved("a", 119*time.Second-time.Minute)
		require.Equal(s, 2, s.queued(), "moved to a time that is near")
		s.moved("a", 6*time.Minute)
		require.Equal(s, 1, s.queued(), "its task is gone with it")

		s.work(relaying)
		s.until(4*time.Minute - time.Millisecond)
		require.Zero(s, s.queued())
		s.until(4*time.Minute + 6*time.Second)
		require.Equal(s, 1, s.queued())
		s.until(6*time.Minute + time.Second)
		s.delivered("near +2m0s", "a +6m0s")
		s.ended("alice", "a", "d")
	})
}

// A worker that ends between taking messages from the schedule and putting them into the
// queue loses none: another one finds them a little later.
func TestAHandOverThatIsCutOffIsMadeAgain(t *testing.T) {
	tell(t, func(s *story) {
		s.horizon(time.Minute)
		s.accepted(s.message("a", 3*time.Minute))
		s.until(2*time.Minute + time.Second)
		watch := taskstest.Open(s, s.client, s.shared).Watch
		due, _, err := watch.Due(s.Context(), time.Now(), 10)
		require.NoError(s, err)
		found, err := watch.HandOver(s.Context(), due, time.Now())
		require.NoError(s, err)
		require.Len(s, found.Soon, 1)
		require.Empty(s, found.LookAfter)
		again, err := watch.HandOver(s.Context(), due, time.Now())
		require.NoError(s, err)
		require.Equal(s, messages.HandedOver{NotDue: due}, again, "another worker has it")
		s.work(relaying)
		s.until(2*time.Minute + 5*time.Second)
		require.Zero(s, s.queued())
		s.until(3*time.Minute + time.Second)
		s.delivered("a +3m0s")
	})
}

// Many messages of one partition at the same time are handed over in parts.
func TestAHerdIsHandedOver(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.horizon(time.Minute)
		const herd = 250 // one call hands over 100
		for i := range herd {
			s.accepted(s.message(strconv.Itoa(i), 3*time.Minute+time.Duration(i)*time.Millisecond))
		}
		require.Zero(s, s.queued())
		s.work(relaying)
		s.until(2*time.Minute + 10*time.Second)
		require.Equal(s, herd, s.queued())
		s.until(4 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), herd)
		for _, d := range s.recorder.Deliveries() {
			late := d.At.Truncate(time.Millisecond).Sub(d.Notification.SendAt)
			require.GreaterOrEqual(s, late, time.Duration(0))
			require.Less(s, late, time.Second)
		}
	}, "1000/hour")
}

// Parts of a hand-over wait for a slow store together.
func TestAHandOverAsksASlowStoreOnce(t *testing.T) {
	tell(t, func(s *story) {
		s.horizon(time.Minute)
		const users = 20
		for i := range users {
			m := s.message("a", 3*time.Minute)
			m.User = fmt.Sprint("user", i)
			s.accepted(m)
		}
		f := s.filling()
		f.percent(1)
		f.takes = 100 * time.Millisecond
		s.until(2*time.Minute + time.Second)
		s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = time.Hour })
		s.until(3*time.Minute + time.Second)
		require.Len(s, s.recorder.Deliveries(), users)
		require.EqualValues(s, 2, f.asked.Load(), "once, and whether it evicts")
	})
}

// Messages are cancelled and moved in every millisecond around the horizon, while two
// workers hand them over. None that was cancelled is sent, each other one once, at its last
// time.
func TestChangesAroundTheHorizon(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			tell(t, func(s *story) { tellChangesAroundTheHorizon(s, rand.New(rand.NewPCG(seed, 15))) }, "1000/hour")
		})
	}
}

func tellChangesAroundTheHorizon(s *story, random *rand.Rand) {
	const horizon, count, spread = 30 * time.Second, 40, 40 * time.Millisecond
	s.horizon(horizon)
	upTo := func(most time.Duration) time.Duration {
		return time.Duration(random.Int64N(int64(most))).Truncate(time.Millisecond)
	}
	type change struct {
		at  time.Duration
		run func()
	}
	var changes []change
	var wanted []string
	for i := range count {
		id, due := fmt.Sprint("m", i), 2*time.Minute+upTo(spread)
		s.accepted(s.message(id, due))
		near := due - horizon + upTo(spread) - spread/2
		switch random.IntN(3) {
		case 0:
			changes = append(changes, change{near, func() { s.cancelled(id) }})
			continue
		case 1:
			to := due + upTo(2*horizon) - horizon/2
			changes = append(changes, change{near, func() { s.moved(id, to) }})
			due = to
		}
		wanted = append(wanted, id+" +"+due.String())
	}
	slices.SortFunc(changes, func(a, b change) int { return int(a.at - b.at) })
	s.until(2*time.Minute - horizon - spread)
	var stop []func()
	for range 2 { // they look every few milliseconds
		stop = append(stop, s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = 6 * time.Millisecond }))
	}
	for _, c := range changes {
		s.until(c.at)
		c.run()
	}
	s.until(2*time.Minute - horizon + 2*spread)
	s.work(relaying)
	for _, end := range stop {
		end()
	}
	s.until(4 * time.Minute)
	got := []string{}
	for _, d := range s.recorder.Deliveries() {
		got = append(got, d.Notification.ID+" +"+d.At.Sub(s.began).Truncate(time.Millisecond).String())
	}
	require.ElementsMatch(s, wanted, got)
	require.Zero(s, s.queued())
	require.Empty(s, s.watched("alice"))
}

// Tasks need memory, and in a full store nothing is delivered, which makes room. So a pass
// hands over only what the store has room for, and a few however full it is.
func TestAHandOverLeavesRoomInTheStore(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for percent, most := range map[int]int{91: 52, 99: 10} { // 1 % of 10 MB is room for 52 tasks
		t.Run(strconv.Itoa(percent), func(t *testing.T) {
			tell(t, func(s *story) {
				s.horizon(time.Minute)
				const count = 100
				for i := range count {
					s.accepted(s.message(strconv.Itoa(i), 3*time.Minute))
				}
				f := s.filling()
				f.percent(percent)
				s.until(2*time.Minute + time.Second)
				s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = time.Minute })
				s.until(2*time.Minute + 2*time.Second)
				require.InDelta(s, most, s.queued(), 1, "of one pass")
				f.percent(50)
				s.until(5 * time.Minute)
				require.Len(s, s.recorder.Deliveries(), count)
			}, "1000/hour")
		})
	}
}

// Many workers look at the schedule about as often as one does, so that idle ones cost the
// store little. One looks 12 to 24 times a minute.
func TestManyWorkersLookAsOftenAsOne(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		s.horizon(time.Minute)
		s.accepted(s.message("a", time.Hour))
		keys := s.keys()
		looks := namedKeys{keys.NearOf(0): new(atomic.Int64), keys.FarOf(0, 0): new(atomic.Int64)} // a look names each partition's
		s.hook = looks
		for range 8 {
			s.work(relaying)
		}
		s.until(time.Minute)
		near, far := looks[keys.NearOf(0)].Load(), looks[keys.FarOf(0, 0)].Load()
		require.GreaterOrEqual(s, near, int64(12))
		require.LessOrEqual(s, near, int64(31), "a turn lasts 2 seconds")
		require.GreaterOrEqual(s, far, int64(1))
		require.LessOrEqual(s, far, int64(2), "a turn lasts a minute")
	})
}

// namedKeys counts the commands that name some keys.
type namedKeys map[string]*atomic.Int64

func (n namedKeys) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n namedKeys) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		n.count(cmd)
		return next(ctx, cmd)
	}
}

func (n namedKeys) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			n.count(cmd)
		}
		return next(ctx, cmds)
	}
}

func (n namedKeys) count(cmd redis.Cmder) {
	for _, arg := range cmd.Args()[1:] {
		if key, _ := arg.(string); n[key] != nil {
			n[key].Add(1)
		}
	}
}
