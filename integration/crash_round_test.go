package integration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// crashRound is some submitters and workers on their own part of a store. Any of them
// may die. It lasts until everything they accepted has ended.
type crashRound struct {
	*testing.T

	store    crashStore
	base     crashConfig // common to all its processes
	folder   string
	receiver *notifiertest.Receiver
	mails    *notifiertest.MailServer
	callback *callbackReceiver
	history  crashHistory // so far: policy, plans and how to judge it
	ids      map[string][]string
	perDay   int64     // messages a day of the account
	left     time.Time // when notices were left for the worker; zero for none
}

// newCrashRound makes a round with an account of perDay messages a day.
func newCrashRound(
	t *testing.T, server crashServer, scripts scriptNames, prefix string, perDay int64, rules ...string,
) *crashRound {
	t.Helper()
	policy, err := policy.Parse(policy.DefaultName, "", rules...)
	require.NoError(t, err)
	policy.AlertAt, policy.AlertTo = crashAlertAt(), "team@receiver.example"
	policies, err := settings.NewPolicies(server.client, prefix)
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy))
	r := &crashRound{
		T: t, store: newCrashStore(t, server.client, prefix), folder: t.TempDir(),
		receiver: notifiertest.NewReceiver(time.Now), ids: make(map[string][]string), perDay: perDay,
		history: crashHistory{policy: policy, plans: make(map[string]crashPlan), users: make(map[string]userState)},
	}
	t.Cleanup(r.receiver.Close)
	r.receiver.AnswerWith(crashProvider)
	r.base = crashConfig{
		Addresses: server.addresses, Prefix: prefix, Scripts: scripts, Journal: filepath.Join(r.folder, "journal"),
	}
	r.tolerate(sendlimit.DefaultTolerance)
	r.openMailServer()
	r.openAccount()
	r.listen()
	r.openCallback()
	return r
}

// queueKeys matches the keys of the queues under a prefix.
func queueKeys(prefix string) string { return "asynq:{" + queue.Name(prefix) + "*}:*" }

// tolerate sets how late a message may be.
func (r *crashRound) tolerate(d time.Duration) {
	r.base.Tolerance, r.history.tolerance = d, d
}

// plan gives a submitter its plan.
func (r *crashRound) plan(name string, plan crashPlan) {
	r.Helper()
	text, err := json.Marshal(plan)
	require.NoError(r, err)
	require.NoError(r, os.WriteFile(filepath.Join(r.folder, name), text, 0o600))
	r.history.plans[name] = plan
	for _, lane := range plan {
		for _, s := range lane {
			if !slices.Contains(r.ids[s.User], s.ID) {
				r.ids[s.User] = append(r.ids[s.User], s.ID)
			}
		}
	}
}

func (r *crashRound) submitter(name string, point crashPoint) *crashProcess {
	r.Helper()
	config := r.base
	config.Name, config.Point, config.Plan = name, point, filepath.Join(r.folder, name)
	return startCrashProcess(r.T, config)
}

func (r *crashRound) worker(name string, point crashPoint) *crashProcess {
	r.Helper()
	config := r.base
	config.Name, config.Point, config.Receiver, config.Skip = name, point, r.receiver.URL(), r.history.skip
	config.Mails = "smtp://" + r.mails.Address()
	return startCrashProcess(r.T, config)
}

// look reads the store, and requires that nothing is wrong with it at this moment. It
// returns how much has not ended.
func (r *crashRound) look() int {
	r.Helper()
	pending := 0
	var faults []string
	for user, ids := range r.ids {
		state := r.store.state(r.T, user, ids)
		r.history.users[user] = state
		pending += state.pending() + len(state.watched)
		faults = append(faults, state.faults(r.T)...)
	}
	r.require(faults)
	subjects := append(crashContacts(), crashAccount, r.history.policy.Name)
	return pending + r.ungathered() + r.unposted() + r.store.held(r.T) + r.store.waiting(r.T, subjects...)
}

// judge compares what happened with what the submitters were told.
func (r *crashRound) judge() {
	r.Helper()
	require.Zero(r, r.look())
	r.history.events = readJournal(r.T, r.base.Journal)
	r.history.requests = r.receiver.Requests()
	r.require(append(r.history.faults(r.T), r.noticeFaults()...))
	r.require(r.eventFaults())
	r.require(r.callbackFaults())
	r.store.requireCharges(r.T, r.history.users)
	r.store.remove(r.T, r.base.Prefix+":*")
	r.store.remove(r.T, queueKeys(r.base.Prefix))
}

// require fails with the journal. Faults about a message show only that message's part
// of it.
func (r *crashRound) require(faults []string) {
	r.Helper()
	if len(faults) == 0 {
		return
	}
	var story strings.Builder
	for _, e := range readJournal(r.T, r.base.Journal) {
		about := e.Event == eventDied || e.Event == eventFails || slices.ContainsFunc(faults, func(fault string) bool {
			return e.ID != "" && strings.HasPrefix(fault, e.User+"/"+e.ID+":")
		})
		if about {
			line, err := json.Marshal(e)
			require.NoError(r, err)
			fmt.Fprintf(&story, "%s\n", line)
		}
	}
	require.Fail(r, "what no crash may leave", "%s\n\n%s", strings.Join(faults, "\n"), &story)
}

// stop tells a process to stop, and waits until it has stopped.
func (r *crashRound) stop(p *crashProcess) {
	r.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended by itself
	r.await(p)
}

func (r *crashRound) await(p *crashProcess) {
	r.Helper()
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		require.Fail(r, "goes on", "%s\n%s", p.config.Name, &p.said)
	}
}

// crashCast says which processes play a round, and how.
type crashCast struct {
	submitter, worker []crashPoint  // where they die, one life after the other
	stop              time.Duration // how long after its first work a worker is told to stop, once; zero means never
	empties           time.Duration // when the queue loses everything; zero means never
	certain           int           // how many of the worker's points must be reached, the first ones
	patience          time.Duration // how long a worker continues for those when all is done
	random            *rand.Rand
}

const submitterName, workerName = "submitter", "worker"

// play runs a submitter and a worker until all is done, restarts each whenever it has
// died, and judges.
func (r *crashRound) play(c crashCast) {
	r.Helper()
	next := func(points *[]crashPoint) (point crashPoint) {
		if len(*points) > 0 {
			point, *points = (*points)[0], (*points)[1:]
		}
		return point
	}
	submitter, worker := r.submitter(submitterName, next(&c.submitter)), r.nextWorker(next(&c.worker))
	began, done := time.Now(), false
	poll := time.NewTicker(lookEvery)
	defer poll.Stop()
	for idle := began; !done || worker.running() && c.certain > 0 && time.Since(idle) < c.patience; {
		<-poll.C
		r.inTime(began, worker)
		if !submitter.running() && submitter.killed(r.T) {
			r.look()
			time.Sleep(time.Duration(c.random.Int64N(200)) * time.Millisecond)
			submitter = r.submitter(submitterName, next(&c.submitter))
		}
		if !worker.running() {
			require.True(r, worker.killed(r.T), "the worker stopped by itself\n%s", &worker.said)
			r.look()
			time.Sleep(time.Duration(c.random.Int64N(300)) * time.Millisecond)
			worker, idle = r.nextWorker(next(&c.worker)), time.Now()
			c.certain--
		}
		if c.stop > 0 && r.works() > c.stop {
			c.stop = 0
			r.stop(worker)
			r.look()
			point := worker.config.Point // not yet reached
			if worker.endedBy(syscall.SIGKILL) {
				point = next(&c.worker)
				c.certain--
			}
			worker = r.nextWorker(point)
		}
		if c.empties > 0 && time.Since(began) > c.empties {
			c.empties = 0
			r.store.remove(r.T, queueKeys(r.base.Prefix))
		}
		if was := done; !submitter.running() {
			if done = !submitter.killed(r.T) && r.look() == 0; done && !was {
				idle = time.Now()
			}
		}
	}
	r.stop(worker)
	worker.killed(r.T)
	r.finish()
	r.judge()
}

// lookEvery is the time between two looks at a round.
const lookEvery = 150 * time.Millisecond

// finish lets a living worker do the rest: the last one may have died over a report or
// a digest that it had just made.
func (r *crashRound) finish() {
	r.Helper()
	for began := time.Now(); r.look() > 0; {
		last := r.nextWorker(crashPoint{})
		for r.look() > 0 {
			r.inTime(began, last)
			time.Sleep(lookEvery)
		}
		r.stop(last)
		require.False(r, last.killed(r.T), "nobody killed it")
	}
}

// inTime requires that the round does not run for ever.
func (r *crashRound) inTime(began time.Time, worker *crashProcess) {
	r.Helper()
	if time.Since(began) < 2*time.Minute {
		return
	}
	var text strings.Builder
	for _, u := range r.history.users {
		text.WriteString(u.unended())
	}
	queued := r.store.match(r.T, queueKeys(r.base.Prefix))
	r.stop(worker)
	require.Fail(r, "the round does not end", "%s\n%q\n%s", &text, queued, &worker.said)
}

// died counts the deaths of processes, by point and kind of process.
func (r *crashRound) died() map[crashTarget]int {
	count := make(map[crashTarget]int)
	for _, e := range readJournal(r.T, r.base.Journal) {
		if e.Event == eventDied {
			count[crashTarget{worker: e.Process == workerName, call: e.Point.Call, after: e.Point.After}]++
		}
	}
	return count
}

// works returns for how long there has been a worker that takes tasks.
func (r *crashRound) works() time.Duration {
	for _, e := range readJournal(r.T, r.base.Journal) {
		if e.Process == workerName && e.Call == "asynq dequeue" {
			return time.Since(e.At)
		}
	}
	return 0
}

// called lists the calls that a process made.
func (r *crashRound) called(process string) []string {
	calls := make(map[string]bool)
	for _, e := range readJournal(r.T, r.base.Journal) {
		if e.Event == eventCalled && e.Process == process {
			calls[e.Call] = true
		}
	}
	return slices.Sorted(maps.Keys(calls))
}
