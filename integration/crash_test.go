package integration_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

const (
	crashRoundsEnv = "SENDLIMIT_TEST_CRASH_ROUNDS" // how many rounds; the default is one for each pair of points
	crashSeedEnv   = "SENDLIMIT_TEST_CRASH_SEED"   // the one round to repeat
)

const crashTogether = 48 // rounds in parallel: processes mostly wait

// A submitter and a worker die at any point between two calls, again and again, and are
// restarted. Every accepted message is delivered once; only a worker that died with it
// in hand may change that. The account is charged for what was accepted, and every
// threshold that it and the users reach is announced once, in one mail.
//
// A quarter of the rounds use a cluster. There the hook of a process does not see how
// connections are made, so rounds with those points use one server.
//
// The test does not run in parallel with others, whose messages it would make late.
func TestCrashPointsLoseAndDoubleNothing(t *testing.T) {
	sendlimittest.Long(t)
	server, cluster := crashServerOf(redistest.Real(t)), crashClusterOf(redistest.RealCluster(t))
	scripts := nameScripts(t, server.client)
	nameScripts(t, cluster.client)
	died := crashCount{times: make(map[crashTarget]int)}
	play := func(t *testing.T, seed uint64) {
		t.Helper()
		on := server
		if pair := crashPair(seed); seed%4 == 3 && !pair[0].connects() && !pair[1].connects() {
			on = cluster
		}
		r := newCrashRound(t, on, scripts, "c"+strconv.FormatUint(seed, 36), 8, "2/1s", "3/2s", crashDailyRule)
		defer func() { died.add(r.died()) }()
		playRandomRound(r, seed)
	}
	if text := os.Getenv(crashSeedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, crashSeedEnv)
		play(t, seed)
		return
	}
	rounds, say := crashPairCount(), t.Logf
	if text := os.Getenv(crashRoundsEnv); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err, crashRoundsEnv)
		say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) } // somebody waits for it
	}
	began := time.Now()
	playAll := func(seeds []uint64) {
		next := make(chan uint64)
		var players sync.WaitGroup
		for range crashTogether {
			players.Go(func() {
				for seed := range next {
					// The name of a round shows how to repeat it.
					t.Run(fmt.Sprintf("%s=%d", crashSeedEnv, seed), func(t *testing.T) { play(t, seed) })
				}
			})
		}
		for i, seed := range seeds {
			next <- seed
			if (i+1)%100 == 0 {
				say("%d rounds in %s", i+1, time.Since(began).Round(time.Second))
			}
		}
		close(next)
		players.Wait()
	}
	pairs := uint64(crashPairCount())
	first := rand.Uint64N(1<<30) * pairs
	seeds := make([]uint64, rounds)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	playAll(seeds)
	// On a busy machine a process may miss a point that is reached at one moment only,
	// because another process has done its work. Such points get more rounds.
	for range 3 {
		first += pairs
		seeds = died.missed(first)
		playAll(seeds)
	}
	died.report(t, rounds, say)
}

// crashCount counts deaths over several parallel rounds.
type crashCount struct {
	mu    sync.Mutex
	times map[crashTarget]int
}

func (c *crashCount) add(died map[crashTarget]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for target, times := range died {
		c.times[target] += times
	}
}

// missed returns the rounds, of one for each pair, for the points at which nothing has
// died.
func (c *crashCount) missed(first uint64) (seeds []uint64) {
	for i := range uint64(crashPairCount()) {
		pair := crashPair(first + i)
		if c.times[pair[0]] == 0 || c.times[pair[1]] == 0 {
			seeds = append(seeds, first+i)
		}
	}
	return seeds
}

// report logs how often processes died at each point, and requires that they died at
// every point. Four calls, which a worker makes only with messages in hand at the right
// moment, may be missed by few rounds: only a soak requires them.
func (c *crashCount) report(t *testing.T, rounds int, say func(format string, args ...any)) {
	t.Helper()
	for _, target := range crashTargets() {
		say("%5d times: %s", c.times[target], target)
		certain := target.comes() != callsAtStop && target.comes() != callsLate
		if certain || rounds > 2000 {
			assert.Positive(t, c.times[target], "nothing died there: %s", target)
		}
	}
}

// playRandomRound plays the round of a seed. Consecutive seeds let processes die at one
// pair of points after the other; all else is random.
func playRandomRound(r *crashRound, seed uint64) {
	r.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	targets, pair := crashTargets(), crashPair(seed)
	r.history.skip = random.IntN(4) == 0
	r.base.Batch = random.IntN(4) == 0
	if random.IntN(2) == 0 {
		r.tolerate(150 * time.Millisecond)
	}
	r.leaveNotices()
	if paced := random.IntN(3) > 0; paced || pair[0].paced() || pair[1].paced() {
		r.pace()
	}
	users := []string{"ann", "bob", "cleo"}
	r.store.crowd(r.T, users[random.IntN(len(users))])
	plan := randomPlan(random, "m", users, len(users), 3, 150*time.Millisecond)
	cast := crashCast{random: random}
	for _, target := range pair {
		cast.dies(target, 1)
	}
	cast.certain = len(cast.worker)
	for range random.IntN(3) {
		cast.dies(targets[random.IntN(len(targets))], 1+random.IntN(4)*random.IntN(4))
	}
	if random.IntN(3) == 0 {
		cast.stop = time.Duration(400+random.IntN(700)) * time.Millisecond
	}
	if random.IntN(5) == 0 {
		cast.empties = time.Duration(random.IntN(1500)) * time.Millisecond
	}
	// The messages of every round. A message that must be lost comes before them.
	for i := range plan {
		if pair[0].comes() == callsOnLoss {
			plan[i][0].Wait += 400 * time.Millisecond
		}
	}
	later := func(id string) crashStep {
		return crashStep{Do: doSubmit, User: "dora", ID: id, In: 2 * time.Second, Account: crashAccount}
	}
	plan = append(plan,
		[]crashStep{{Wait: plan[0][0].Wait, Do: doSubmit, User: "emil", ID: "busy", In: 300 * time.Millisecond, Provider: providerBusy}},
		[]crashStep{later("moved"), {Wait: 700 * time.Millisecond, Do: doMove, User: "dora", ID: "moved", In: time.Second}},
		[]crashStep{later("cancelled"), {Wait: 700 * time.Millisecond, Do: doCancel, User: "dora", ID: "cancelled"}},
		[]crashStep{
			{Do: doSubmit, User: "fay", ID: "first", In: 300 * time.Millisecond},
			{Do: doSubmit, User: "fay", ID: "second", In: 400 * time.Millisecond},
		},
	)
	for _, target := range pair {
		plan = cast.arrange(target.comes(), plan)
	}
	r.plan(submitterName, plan)
	r.play(cast)
}

// arrange makes a round reach an occasion, by what is submitted and when the worker is
// stopped.
func (c *crashCast) arrange(o occasion, plan crashPlan) crashPlan {
	wait := func(atLeast time.Duration) { // before the other messages
		for i := range plan {
			plan[i][0].Wait = max(plan[i][0].Wait, atLeast)
		}
	}
	switch o {
	case callsAlways:
	case callsAtStart:
		c.patience = max(c.patience, 5*time.Second)
	case callsOnLoss:
		// It is due before the relay looks for it, so it is lost and not just early. A
		// repeated submit would put it into the queue.
		c.submitter = append([]crashPoint{{Call: "asynq enqueue", Nth: 1}}, c.submitter...)
		plan = append(plan, []crashStep{{Do: doSubmit, User: "ida", ID: "lost", In: crashLookAfter / 2, GiveUp: true}})
	case callsOnHold:
		c.submitter = append([]crashPoint{{Call: "place/reserve", After: true, Nth: 1}}, c.submitter...)
		wait(400 * time.Millisecond)
		plan = append(plan, []crashStep{{Do: doSubmit, User: "hank", ID: "held", In: 1500 * time.Millisecond, Account: crashAccount}})
	case callsOnQuota:
		plan = append(plan, heldPlan("quota", 500*time.Millisecond, 50*time.Millisecond)...)
		for i := range plan {
			plan[i][0].Account = crashAccount
		}
	case callsOnPause:
		plan = append(plan, []crashStep{{Do: doSubmit, User: "gil", ID: "full", In: 300 * time.Millisecond, Provider: providerFull}})
	case callsInTime:
		c.patience = 10 * time.Second
	case callsAtStop:
		// The worker has messages in hand then.
		c.stop = 700 * time.Millisecond
		plan = append(plan, heldPlan("stop", 500*time.Millisecond, 200*time.Millisecond)...)
	case callsLate:
		// The worker lives for long, and has messages in hand when it reports to the
		// queue that it is alive.
		c.patience = 10 * time.Second
		plan = append(plan, heldPlan("late", 4900*time.Millisecond, 100*time.Millisecond)...)
	}
	return plan
}

// dies makes a process of the target's kind die there, at the n-th such call.
func (c *crashCast) dies(target crashTarget, n int) {
	point := crashPoint{Call: target.call, After: target.after, Nth: n}
	if target.worker {
		c.worker = append(c.worker, point)
	} else {
		c.submitter = append(c.submitter, point)
	}
}

// heldPlan has a message due at every interval, each for another user. A round has one plan
// of a name.
func heldPlan(name string, in, every time.Duration) crashPlan {
	var plan crashPlan
	for i := range 10 {
		plan = append(plan, []crashStep{{
			Do: doSubmit, User: name + "-" + strconv.Itoa(i), ID: "held", In: in + time.Duration(i)*every,
		}})
	}
	return plan
}
