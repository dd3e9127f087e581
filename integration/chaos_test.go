package integration_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

const (
	chaosUsers      = 20
	chaosSubmitters = 4
	chaosLanes      = 6
	chaosMessages   = 40 // per lane: enough for a minute
	chaosPause      = 2400 * time.Millisecond
	chaosWorkers    = 2
	chaosTolerance  = time.Second
)

// For a minute, four submitters submit, move and cancel messages of the same users
// while two workers are killed, stopped and started at random. The deliveries are those
// that the submitters were promised, except for messages that a worker was killed over. Every
// other time they use a cluster.
func TestManyProcessesAgreeOnEveryDelivery(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var server crashServer
	if seed%2 == 0 {
		server = crashServerOf(redistest.Real(t))
	} else {
		server = crashClusterOf(redistest.RealCluster(t))
	}
	random := rand.New(rand.NewPCG(seed, 1))
	r := newCrashRound(t, server, nameScripts(t, server.client), "chaos", 300, "2/1s", "8/5s")
	r.tolerate(chaosTolerance)
	users := make([]string, chaosUsers)
	for i := range users {
		users[i] = "user-" + strconv.Itoa(i)
	}
	var submitters []*crashProcess
	for i := range chaosSubmitters {
		name := fmt.Sprintf("%s-%d", submitterName, i+1)
		r.plan(name, randomPlan(random, strconv.Itoa(i+1), users, chaosLanes, chaosMessages, chaosPause))
		r.base.Batch = i == 0
		submitters = append(submitters, r.submitter(name, crashPoint{}))
	}
	calm := make(chan struct{})
	var workers sync.WaitGroup
	for i := range chaosWorkers {
		name := fmt.Sprintf("%s-%d", workerName, i+1)
		fate := rand.New(rand.NewPCG(seed, uint64(2+i)))
		workers.Go(func() { r.disturb(name, fate, calm) })
	}
	stop := sync.OnceFunc(func() {
		close(calm)
		workers.Wait()
	})
	defer stop()
	for i := 0; i < len(submitters); {
		r.look()
		select {
		case <-submitters[i].ended:
			require.False(t, submitters[i].killed(t))
			i++
		case <-time.After(time.Second):
		}
	}
	stop()
	r.finish()
	r.judge()
	r.tell()
}

// disturb starts a worker again and again, and kills it or sometimes stops it, until
// calm is closed.
func (r *crashRound) disturb(name string, random *rand.Rand, calm <-chan struct{}) {
	for {
		worker := r.worker(name, crashPoint{})
		lives := time.Duration(500+random.IntN(4500)) * time.Millisecond
		end := os.Kill
		if random.IntN(4) == 0 {
			end = syscall.SIGTERM
		}
		select {
		case <-time.After(lives):
		case <-worker.ended:
		case <-calm:
			end = syscall.SIGTERM
		}
		_ = worker.cmd.Process.Signal(end) // fails if it has ended
		<-worker.ended
		if !worker.endedBy(syscall.SIGKILL) && !worker.endedWell() {
			r.Errorf("%s: %s\n%s", name, worker.cmd.ProcessState, &worker.said)
		}
		select {
		case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
		case <-calm:
			return
		}
	}
}

// tell logs the outcomes of the messages.
func (r *crashRound) tell() {
	r.Helper()
	states := make(map[string]int)
	late := 0
	for _, u := range r.history.users {
		for id, record := range u.records {
			states[record["s"]]++
			if u.number(r.T, id, "p") > 0 {
				late++
			}
		}
	}
	outcomes := make(map[string]int)
	for _, e := range r.history.events {
		if e.Event == eventEnds {
			outcomes[e.Outcome.Outcome+" "+string(e.Outcome.Code)]++
		}
	}
	r.Logf("answers %v; records by state %v, %d postponed or late; %d requests to the provider, %d messages in doubt",
		outcomes, states, late, len(r.history.requests), len(doubts(r.history.events)))
}
