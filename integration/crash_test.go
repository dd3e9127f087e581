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
	crashRoundsEnv = "SENDLIMIT_TEST_CRASH_ROUNDS" // how many rounds; 200 unless it is set
	crashSeedEnv   = "SENDLIMIT_TEST_CRASH_SEED"   // the one round to play again
)

const (
	crashRounds   = 200
	crashTogether = 22 // rounds at a time: processes mostly wait
)

// A submitter and a worker die at any point between two calls, each again and
// again, and are started again: every message that was accepted is delivered
// once, and more or less often only where a worker died with it in its hands. The
// account is charged for what was accepted, and every threshold that it and the
// users reach is told once, in one mail.
//
// It is not run beside other tests, whose messages it would make late.
func TestCrashPointsLoseAndDoubleNothing(t *testing.T) {
	sendlimittest.Long(t)
	server := redistest.Real(t)
	scripts := nameScripts(t, server.Client())
	died := crashCount{times: make(map[crashTarget]int)}
	play := func(t *testing.T, seed uint64) {
		t.Helper()
		r := newCrashRound(t, server, scripts, "c"+strconv.FormatUint(seed, 36), 8, "2/1s", "3/2s", crashDailyRule)
		defer func() { died.add(r.died()) }()
		playRandomRound(r, seed)
	}
	if text := os.Getenv(crashSeedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, crashSeedEnv)
		play(t, seed)
		return
	}
	rounds, say := crashRounds, t.Logf
	if text := os.Getenv(crashRoundsEnv); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err, crashRoundsEnv)
		say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) } // somebody waits
	}
	first := rand.Uint64N(1 << 40)
	seeds := make(chan uint64)
	var players sync.WaitGroup
	for range crashTogether {
		players.Go(func() {
			for seed := range seeds {
				// The name of a round is how to play it again.
				t.Run(fmt.Sprintf("%s=%d", crashSeedEnv, seed), func(t *testing.T) { play(t, seed) })
			}
		})
	}
	began := time.Now()
	for i := range rounds {
		seeds <- first + uint64(i)
		if (i+1)%100 == 0 {
			say("%d rounds in %s", i+1, time.Since(began).Round(time.Second))
		}
	}
	close(seeds)
	players.Wait()
	died.report(t, rounds, say)
}

// crashCount counts deaths over several rounds at a time.
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

// report tells how often processes died where, and requires that they did at
// every point that so many rounds are to reach.
func (c *crashCount) report(t *testing.T, rounds int, say func(format string, args ...any)) {
	t.Helper()
	for _, target := range crashTargets() {
		say("%5d times: %s", c.times[target], target)
		certain := target.comes() != callsAtStop && target.comes() != callsLate
		if rounds >= crashRounds && certain || rounds > 10*crashRounds {
			assert.Positive(t, c.times[target], "nothing died there: %s", target)
		}
	}
}

// playRandomRound plays the round of a seed. Seeds that follow each other have
// a process die at one point after the other; all else is random.
func playRandomRound(r *crashRound, seed uint64) {
	r.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	targets := crashTargets()
	target := targets[seed%uint64(len(targets))]
	r.history.skip = random.IntN(4) == 0
	r.base.Batch = random.IntN(4) == 0
	if random.IntN(2) == 0 {
		r.tolerate(150 * time.Millisecond)
	}
	r.leaveNotices()
	if paced := random.IntN(3) > 0; paced || target.paced() {
		r.pace()
	}
	users := []string{"ann", "bob", "cleo"}
	plan := randomPlan(random, "m", users, len(users), 3, 150*time.Millisecond)
	cast := crashCast{random: random}
	cast.dies(target, 1)
	for range random.IntN(3) {
		cast.dies(targets[random.IntN(len(targets))], 1+random.IntN(4)*random.IntN(4))
	}
	if random.IntN(3) == 0 {
		cast.stop = time.Duration(400+random.IntN(700)) * time.Millisecond
	}
	if random.IntN(5) == 0 {
		cast.empties = time.Duration(random.IntN(1500)) * time.Millisecond
	}
	// What is in any round, before anything else where that is to get lost.
	for i := range plan {
		if target.comes() == callsOnLoss {
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
	switch target.comes() {
	case callsAlways:
	case callsOnLoss:
		cast.submitter = append([]crashPoint{{Call: "asynq schedule", Nth: 1}}, cast.submitter...)
	case callsOnHold:
		cast.submitter = append([]crashPoint{{Call: "place/reserve", After: true, Nth: 1}}, cast.submitter...)
		for i := range plan {
			plan[i][0].Wait = max(plan[i][0].Wait, 400*time.Millisecond)
		}
		plan = append(plan, []crashStep{{Do: doSubmit, User: "hank", ID: "held", In: 1500 * time.Millisecond, Account: crashAccount}})
	case callsOnQuota:
		plan = append(plan, heldPlan(500*time.Millisecond, 50*time.Millisecond)...)
		for i := range plan {
			plan[i][0].Account = crashAccount
		}
	case callsOnPause:
		plan = append(plan, []crashStep{{Do: doSubmit, User: "gil", ID: "full", In: 300 * time.Millisecond, Provider: providerFull}})
	case callsInTime:
		cast.patience = 10 * time.Second
	case callsAtStop:
		// The worker has messages in hand then.
		cast.stop = 700 * time.Millisecond
		plan = append(plan, heldPlan(500*time.Millisecond, 200*time.Millisecond)...)
	case callsLate:
		// The worker lives for long, and has messages in hand when it tells the
		// queue that it is there.
		cast.patience = 10 * time.Second
		plan = append(plan, heldPlan(4900*time.Millisecond, 100*time.Millisecond)...)
	}
	r.plan(submitterName, plan)
	r.play(cast)
}

// dies has a process of the target's kind die there, at the n-th such call.
func (c *crashCast) dies(target crashTarget, n int) {
	point := crashPoint{Call: target.call, After: target.after, Nth: n}
	if target.worker {
		c.worker = append(c.worker, point)
	} else {
		c.submitter = append(c.submitter, point)
	}
}

// heldPlan has a message due every so often, of a user each.
func heldPlan(in, every time.Duration) crashPlan {
	var plan crashPlan
	for i := range 10 {
		plan = append(plan, []crashStep{{
			Do: doSubmit, User: "user-" + strconv.Itoa(i), ID: "held", In: in + time.Duration(i)*every,
		}})
	}
	return plan
}
