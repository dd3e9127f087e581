package integration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// submitterCalls lists every call that a submitter makes to submit, move and cancel
// messages. The tests kill it before and after each call.
func submitterCalls() []string {
	return []string{
		"account/find", "asynq deleteTask", "asynq enqueue", "asynq schedule", "charge/hold", "charge/settle_hold",
		"client", "count/add_once", "dial", "get policy", "hello", "hgetall listeners", "hmget record", "info memory", "place/check", "place/move",
		"place/release", "place/reserve", "sadd asynq:queues", "sismember asynq:queues", "smembers policies", "time", "zadd watch",
		"zrange changing", "zrangebyscore changes", "zrevrange changes",
	}
}

// workerCalls lists every call of a worker, its relay included.
func workerCalls() []string {
	return []string{
		"account/find", "announce", "asynq clearServerState",
		"asynq deleteExpiredCompletedTasks", "asynq dequeue", "asynq done", "asynq enqueue", "asynq forward",
		"asynq getTaskInfo", "asynq listLeaseExpired", "asynq listMessages", "asynq listZSetEntries",
		"asynq reclaimStateAggregationSets", "asynq retry", "asynq schedule", "asynq writeServerState",
		"charge/hold_look", "charge/settle_hold", "client", "count/add_once", "dial", "event/append", "event/callback_settle", "event/callback_take", "event/listen", "exists far", "get hold", "get policy", "hello", "hgetall accounts", "hgetall channels", "hgetall listeners", "hgetall paused", "hgetall settings", "hgetall stats",
		"info memory", "message/bring_near", "message/claim", "message/hand_over", "message/look_turn", "message/renew", "message/settle", "mget rate", "notice/claim", "notice/put",
		"notice/settle", "notify", "post", "rate/pause", "rate/permits_acquire", "rate/permits_give_back",
		"rate/tokens_give_back", "rate/tokens_take", "sadd asynq:queues", "sismember asynq:queues",
		"smembers asynq:queues", "smembers callbacks", "smembers policies", "time", "xrange events", "xtrim events", "zadd asynq:lease", "zadd asynq:servers", "zadd asynq:workers", "zadd notices",
		"zadd watch", "zrange changing", "zrange far", "zrange gathered", "zrange holds", "zrange notices", "zrange watch",
		"zrangebyscore changes", "zrem asynq:servers", "zrem asynq:workers", "zrem gathered", "zrevrange changes",
	}
}

// occasion is when a call is made.
type occasion int

// The occasions.
const (
	callsAlways  occasion = iota
	callsAtStart          // soon after a worker has started, with nothing to do
	callsOnLoss           // when a submitter died over a message that the queue did not get
	callsOnHold           // when a submitter died that had charged an account
	callsOnQuota          // when an account has no messages left
	callsOnPause          // when the provider asks for a pause
	callsInTime           // when a worker has lived for a moment
	callsAtStop           // when a worker is told to stop
	callsLate             // when it has lived for seconds
)

// crashTarget is a point where processes of a kind die.
type crashTarget struct {
	worker bool // or else a submitter
	call   string
	after  bool
}

func (t crashTarget) String() string {
	name := submitterName
	if t.worker {
		name = workerName
	}
	return fmt.Sprintf("%s, %s", name, crashPoint{Call: t.call, After: t.after})
}

// comes returns the occasion on which the point is reached.
func (t crashTarget) comes() occasion {
	switch {
	case t.call == "place/check":
		return callsOnQuota
	case !t.worker:
		return callsAlways
	case slices.Contains([]string{"asynq getTaskInfo", "asynq listMessages", "asynq schedule", "message/renew", "sismember asynq:queues"}, t.call):
		return callsOnLoss
	case slices.Contains([]string{"get hold", "charge/hold_look", "charge/settle_hold"}, t.call):
		return callsOnHold
	case t.call == "rate/pause":
		return callsOnPause
	case slices.Contains([]string{
		"account/find", "asynq listZSetEntries", "hgetall accounts", "hgetall stats", "notice/put", "rate/permits_give_back", "count/add_once",
		"rate/tokens_give_back", "zadd notices", "zrem gathered",
	}, t.call):
		return callsInTime
	case slices.Contains([]string{"asynq clearServerState", "asynq retry", "zrem asynq:servers", "zrem asynq:workers"}, t.call):
		return callsAtStop
	case slices.Contains([]string{"asynq deleteExpiredCompletedTasks", "zadd asynq:lease"}, t.call):
		return callsLate
	case slices.Contains([]string{
		"asynq dequeue", "asynq forward", "asynq listLeaseExpired", "asynq reclaimStateAggregationSets",
		"asynq writeServerState", "client", "dial", "event/callback_take", "event/listen", "exists far", "get policy", "hello", "hgetall channels", "hgetall listeners", "hgetall paused", "message/bring_near", "message/look_turn", "mget rate",
		"sadd asynq:queues", "smembers asynq:queues", "smembers callbacks", "smembers policies", "time", "xrange events", "zadd asynq:servers", "zrange changing", "zrange far", "zrange gathered",
		"zrange holds", "zrange notices", "zrange watch", "zrangebyscore changes", "zrevrange changes",
	}, t.call):
		return callsAtStart
	}
	return callsAlways
}

// connects reports whether the call makes a connection.
func (t crashTarget) connects() bool {
	return slices.Contains([]string{"dial", "hello", "client"}, t.call)
}

// paced reports whether the call is made only if the provider has a pace.
func (t crashTarget) paced() bool {
	return strings.HasPrefix(t.call, "rate/permits_") || strings.HasPrefix(t.call, "rate/tokens_")
}

// crashTargets returns both points of every call.
func crashTargets() []crashTarget {
	var targets []crashTarget
	add := func(worker bool, calls []string) {
		for _, call := range calls {
			targets = append(targets, crashTarget{worker, call, false}, crashTarget{worker, call, true})
		}
	}
	add(false, submitterCalls())
	add(true, workerCalls())
	return targets
}

func crashPairCount() int { return (len(crashTargets()) + 1) / 2 }

// crashPair returns the targets of a round. Consecutive seeds, as many as there are
// pairs and from a multiple of that number, have all pairs.
func crashPair(seed uint64) [2]crashTarget {
	count := uint64(crashPairCount())
	return crashPairs(rand.New(rand.NewPCG(seed/count, 1)))[seed%count]
}

// crashPairs puts all targets into random pairs, one for each round. The second target
// must still be reached after a process has died at the first. So it is a worker's
// after a submitter's, or one that every worker reaches when it starts.
func crashPairs(random *rand.Rand) [][2]crashTarget {
	targets := crashTargets()
	random.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	rank := func(t crashTarget) int {
		switch {
		case !t.worker:
			return 0
		case t.comes() == callsOnLoss, t.comes() == callsOnHold, t.comes() == callsOnPause:
			return 1
		case t.comes() == callsAlways:
			return 2
		case t.comes() == callsAtStart:
			return 4
		}
		return 3 // the worker must live for a while
	}
	slices.SortStableFunc(targets, func(a, b crashTarget) int { return rank(a) - rank(b) })
	pairs := make([][2]crashTarget, crashPairCount())
	for i := range pairs {
		pairs[i] = [2]crashTarget{targets[i], targets[(i+len(pairs))%len(targets)]}
	}
	return pairs
}

// The second target of every pair is still reached after a process died at the first.
func TestCrashPairsReachBothTargets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		reached := make(map[crashTarget]bool)
		for _, pair := range crashPairs(rand.New(rand.NewPCG(seed, 1))) {
			reached[pair[0]], reached[pair[1]] = true, true
			require.True(t, pair[1].worker && (!pair[0].worker || pair[1].comes() == callsAtStart), "%s", pair)
		}
		require.Len(t, reached, len(crashTargets()))
	}
}

// In a round nobody dies and everything happens that can. The calls are exactly those
// listed above. A new call of the programs must be listed, so that they die around it
// too.
func TestCrashPointsAreAllListed(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t)
	scripts := nameScripts(t, server.Client())
	listed := map[string][]string{submitterName: submitterCalls(), workerName: workerCalls()}
	made := map[string][]string{}
	// A slow machine may miss a call that depends on messages in hand at one moment.
	for try := range 3 {
		r := newCrashRound(t, crashServerOf(server), scripts, "list-"+strconv.Itoa(try), 3, "2/1s", "3/2s", crashDailyRule)
		r.tolerate(150 * time.Millisecond)
		r.plan(submitterName, everythingPlan())
		r.leaveHold()
		r.leaveNotices()
		r.pace()
		r.play(crashCast{stop: 700 * time.Millisecond, empties: 2500 * time.Millisecond, random: rand.New(rand.NewPCG(1, 2))})
		requireEmptyHands(t, r.history.events)
		for process, calls := range listed {
			require.Subset(t, calls, r.called(process), "a %s makes a call that is not listed", process)
			made[process] = slices.Compact(slices.Sorted(slices.Values(append(made[process], r.called(process)...))))
		}
		if slices.Equal(made[submitterName], listed[submitterName]) && slices.Equal(made[workerName], listed[workerName]) {
			return
		}
	}
	require.Equal(t, listed, made)
}

// everythingPlan has a message for every possible outcome.
func everythingPlan() crashPlan {
	submit := func(user, id string, in time.Duration) crashStep {
		return crashStep{Do: doSubmit, User: user, ID: id, In: in}
	}
	shifted := submit("ann", "shifted", 500*time.Millisecond)
	shifted.Shift = true
	paid := func(s crashStep) crashStep {
		s.Account = crashAccount
		return s
	}
	gone := submit("cleo", "gone", 3*time.Second)
	gone.Provider = providerGone
	again := submit("cleo", "again", 3*time.Second)
	again.Provider = providerAgain
	full := submit("cleo", "full", 4*time.Second)
	full.Provider = providerFull
	plan := crashPlan{
		{
			submit("ann", "first", 500*time.Millisecond), submit("ann", "second", 500*time.Millisecond),
			submit("ann", "refused", 500*time.Millisecond), shifted,
			submit("ann", "moved", 12*time.Second),
			{Do: doMove, User: "ann", ID: "moved", In: 11 * time.Second},
			submit("ann", "cancelled", time.Minute),
			{Do: doCancel, User: "ann", ID: "cancelled"},
			paid(submit("dora", "paid", 12*time.Second)),
			{Do: doMove, User: "dora", ID: "paid", In: 11 * time.Second},
			{Do: doCancel, User: "dora", ID: "paid"},
			submit("gus", "near", crashHorizon-100*time.Millisecond),
			{Do: doCancel, User: "gus", ID: "near"}, // it has a task
			gone, again, full,
			// As many as the account may submit, and one more.
			paid(submit("fay", "first", 5*time.Second)), paid(submit("fay", "second", 6*time.Second)),
			paid(submit("fay", "third", 7*time.Second)), paid(submit("fay", "fourth", 8*time.Second)),
		},
		// The queue loses it, and it becomes late.
		{
			submit("bob", "lost-1", 5*time.Second), submit("bob", "lost-2", 5*time.Second),
			submit("bob", "lost-3", 6*time.Second), submit("bob", "now", 0),
		},
	}
	// They share a task, where they stay after they are cancelled: at their time the worker
	// gives back the permits that it took.
	for i := range 4 {
		user := "hal-" + strconv.Itoa(i)
		plan = append(plan, []crashStep{
			submit(user, "stale", 2300*time.Millisecond), {Do: doCancel, User: user, ID: "stale", Wait: 1600 * time.Millisecond},
		})
	}
	// The worker has them in hand when it is told to stop, and when it reports to the
	// queue that it is alive.
	for i := range 40 {
		user := "user-" + strconv.Itoa(i)
		held := submit(user, "held", time.Duration(1500+150*i)*time.Millisecond)
		held.Wait = 3 * time.Second
		plan = append(plan, []crashStep{submit(user, "stop", time.Duration(700+75*i)*time.Millisecond), held})
	}
	return plan
}

// requireEmptyHands requires that everything claimed was settled, because nobody died.
// The same count judges what is in doubt after a crash.
func requireEmptyHands(t *testing.T, events []crashEvent) {
	t.Helper()
	left := make(map[string]int)
	for _, e := range events {
		switch e.Event {
		case eventClaims:
			left[e.Nonce]++
		case eventFree:
			delete(left, e.Nonce)
		}
	}
	require.Empty(t, left)
}
