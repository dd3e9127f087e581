package integration_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// outageEnv is how long no worker runs, in whole units; the default is 20 s.
const outageEnv = "SENDLIMIT_TEST_OUTAGE"

// No worker runs for 20 seconds, and 500 users have full timelines. Afterwards nothing
// is lost and there is no burst: the rules hold, each user's late messages keep their
// order and go out at the next free times, those on time go out on time, and those that
// expired are dropped. The test does not run in parallel with others, which would make
// its messages late.
func TestAWhileWithoutWorkers(t *testing.T) {
	sendlimittest.Long(t)
	unit := time.Second
	if text := os.Getenv(outageEnv); text != "" {
		lasts, err := time.ParseDuration(text)
		require.NoError(t, err, outageEnv)
		unit = lasts / outageLasts
	}
	o := newOutage(t, unit)
	for !o.submit() { // a busy machine needs longer
		o = newOutage(t, 2*o.unit)
	}
	before := o.states()
	o.busy = meterBusy(t)
	time.Sleep(time.Until(o.up))
	require.Empty(t, o.recorder.Deliveries())
	o.work()
	o.work()
	o.judge(before, o.ended(outageLasts*o.unit+time.Minute))
}

// outage is a store whose workers start at a given time.
type outage struct {
	*testing.T

	server   *redistest.Server
	policy   policy.Policy
	recorder *notifiertest.Recorder
	busy     *busyMeter
	unit     time.Duration // whole seconds; all its times are multiples of it
	up       time.Time

	mu  sync.Mutex
	ids map[string][]string // by user
}

func newOutage(t *testing.T, unit time.Duration) *outage {
	t.Helper()
	server := redistest.Real(t)
	policy, err := policy.Parse(policy.DefaultName, "", "1/"+unit.String(), "5/"+(7*unit).String())
	require.NoError(t, err)
	policies, err := settings.NewPolicies(server.Client(), "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy))
	return &outage{
		T: t, server: server, policy: policy, recorder: notifiertest.NewRecorder(time.Now),
		unit: unit, up: time.Now().Add(outageLasts * unit).UTC().Truncate(time.Millisecond), ids: make(map[string][]string),
	}
}

const outageUsers = 500

// Times in units.
const (
	outageLasts = 20
	outageLate  = 10 // how late a message is at most
)

// submit fills the users' timelines around the end of the outage. It reports whether it
// finished before any of the messages was due.
func (o *outage) submit() bool {
	o.Helper()
	submitter, err := submit.New(taskstest.Open(o, o.server.Client(), backend.Options{}), submit.Options{})
	require.NoError(o, err)
	defer func() { require.NoError(o, submitter.Close()) }()
	names := make(chan uint64)
	var filling sync.WaitGroup
	for range 16 {
		filling.Go(func() {
			for n := range names {
				o.fill(submitter, n)
			}
		})
	}
	for n := range uint64(outageUsers) {
		names <- n
	}
	close(names)
	filling.Wait()
	require.Len(o, o.ids, outageUsers)
	return time.Now().Before(o.up.Add(-outageLate * o.unit))
}

// fill submits more messages to a user than there is room for: those that will be late,
// and those that are due a while after the workers start.
func (o *outage) fill(submitter *submit.Submitter, n uint64) {
	user := fmt.Sprintf("user-%d", n)
	random := rand.New(rand.NewPCG(n, 1))
	var accepted []string
	for i := range 12 {
		from, span := o.up.Add(-outageLate*o.unit), (outageLate-3)*o.unit // 3 units are more than the tolerance
		if i >= 8 {
			from, span = o.up.Add(5*o.unit), 3*o.unit
		}
		m := message.Message{
			ID: strconv.Itoa(i), User: user, Title: "a", OnConflict: message.OnConflictShift,
			Category:   []string{"", "news", "alerts"}[random.IntN(3)],
			SendAt:     from.Add(time.Duration(random.Int64N(span.Milliseconds())) * time.Millisecond),
			ShiftUntil: from.Add(span),
		}
		if i < 8 && random.IntN(4) == 0 {
			m.ExpiresAt = m.SendAt.Add(2*o.unit + time.Duration(random.Int64N(15*int64(o.unit))).Truncate(time.Millisecond))
		}
		answer, err := submitter.Submit(o.Context(), m)
		if err != nil {
			o.Error(err)
			return
		}
		if answer.Outcome == message.Accepted {
			accepted = append(accepted, m.ID)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids[user] = accepted
}

func (o *outage) work() {
	o.Helper()
	client := redis.NewClient(&redis.Options{Addr: o.server.Addr, PoolSize: 128, ContextTimeoutEnabled: true})
	o.Cleanup(func() { require.NoError(o, client.Close()) })
	worker, err := tasks.NewWorker(taskstest.Open(o, client, backend.Options{}), tasks.WorkerOptions{Notifier: o.recorder})
	require.NoError(o, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(o.Context()))
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	o.Cleanup(func() {
		cancel()
		require.NoError(o, <-ended)
	})
}

func (o *outage) states() map[string]userState {
	o.Helper()
	store := newCrashStore(o.T, o.server.Client(), "")
	states := make(map[string]userState)
	for user, ids := range o.ids {
		states[user] = store.state(o.T, user, ids)
	}
	return states
}

// ended waits until every message has ended.
func (o *outage) ended(within time.Duration) map[string]userState {
	o.Helper()
	for end := time.Now().Add(within); ; time.Sleep(time.Second) {
		states := o.states()
		var open strings.Builder
		for _, u := range states {
			open.WriteString(u.unended())
		}
		if open.Len() == 0 {
			return states
		}
		require.True(o, time.Now().Before(end), "not ended at %s:\n%s", time.Now().UTC(), &open)
	}
}

// judge compares the outcomes of all messages with a schedule that a plain model of the
// rules makes from the state when the workers started.
func (o *outage) judge(before, after map[string]userState) {
	o.Helper()
	delivered := make(map[messageName]int64)
	for _, d := range o.recorder.Deliveries() {
		name := messageName{d.Notification.User, d.Notification.ID}
		require.Zero(o, delivered[name], "%+v twice", name)
		delivered[name] = d.At.UnixMilli()
	}
	counts := make(map[string]int)
	var slack []time.Duration // of late messages, behind the model's schedule
	moved := 0
	for user, u := range after {
		require.Empty(o, u.faults(o.T))
		require.Empty(o, crashHistory{policy: o.policy}.ruleFaults(o.T, u))
		for id, record := range u.records {
			counts[record["s"]+record["w"]]++
			at, sent := delivered[messageName{user, id}]
			require.Equal(o, record["s"] == stateDelivered, sent, "%s/%s: %q", user, id, record)
			if sent {
				late := at - u.number(o.T, id, "t")
				require.GreaterOrEqual(o, late, int64(0), "%s/%s: early: %q", user, id, record)
				// The claim was in time; the way to the provider comes after it.
				require.Less(o, late, (sendlimit.DefaultTolerance + time.Second).Milliseconds(), "%s/%s: %q", user, id, record)
			}
		}
		behind, others := o.judgeUser(before[user], u)
		slack, moved = append(slack, behind...), moved+others
	}
	slices.Sort(slack)
	o.Logf("%d delivered, %v, behind the schedule by %s (half), %s (95 %%), %s (all)",
		len(delivered), counts, slack[len(slack)/2], slack[len(slack)*95/100], slack[len(slack)-1])
	require.Greater(o, counts[stateDelivered], 3*len(after))
	require.Positive(o, counts[stateDropped+messages.ReasonExpired])
	require.Positive(o, counts[stateDropped+messages.ReasonNoFreeTime])
	if o.busy.overloaded(o.T) {
		o.Logf("the machine is overloaded: whether all of it was in time can't be told, %d were not", moved)
		return
	}
	require.Zero(o, moved, "what is on time goes out on time")
	require.Zero(o, slack[len(slack)*9/10], "most go out to the millisecond when the rules allow it")
	require.Less(o, slack[len(slack)*99/100], 5*o.unit)
	// One that misses its time by a little may have to wait for the window of the other rule,
	// which is 7 units.
	require.Less(o, slack[len(slack)-1], 8*o.unit)
}

// judgeUser requires for a user that nothing on time was lost and that late messages
// kept their order. It returns how far each late message is behind the schedule, and
// how many of those on time did not go out on time.
func (o *outage) judgeUser(before, after userState) (slack []time.Duration, moved int) {
	o.Helper()
	ids := make([]string, 0, len(before.records))
	for id := range before.records {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(before.number(o.T, a, "t"), before.number(o.T, b, "t")), cmp.Compare(a, b))
	})
	model, err := sendlimittest.NewModel(o.policy, policy.DefaultReach)
	require.NoError(o, err)
	reserve := func(id string, at, now time.Time) {
		d := model.Reserve(sendlimit.Request{User: after.user, ID: id, At: at, Now: now})
		require.True(o, d.Allowed, "%s/%s at %s: %+v", after.user, id, at, d)
	}
	var late []string
	looked := o.up.Add(time.Hour) // when the first late one went out or had no free time
	for _, id := range ids {
		record := after.records[id]
		at, was := after.number(o.T, id, "t"), before.number(o.T, id, "t")
		if was >= o.up.UnixMilli() {
			require.Equal(o, stateDelivered, record["s"], "%s/%s: on time: %q", after.user, id, record)
			if at != was {
				moved++
			}
			reserve(id, time.UnixMilli(was), o.up.Add(-time.Minute))
			continue
		}
		late = append(late, id)
		if record["s"] == stateDropped {
			at = after.number(o.T, id, "e")
		}
		if record["w"] != messages.ReasonExpired && time.UnixMilli(at).Before(looked) {
			looked = time.UnixMilli(at)
		}
	}
	from, last := looked, int64(0)
	for _, id := range late {
		record := after.records[id]
		expires := time.UnixMilli(cmp.Or(before.number(o.T, id, "x"), o.up.Add(time.Hour).UnixMilli()))
		if record["w"] == messages.ReasonExpired || !looked.Before(expires) {
			require.Equal(o, stateDropped, record["s"], "%s/%s: %q", after.user, id, record)
			require.False(o, time.UnixMilli(after.number(o.T, id, "e")).Before(expires), "%s/%s: %q", after.user, id, record)
			continue
		}
		at := time.UnixMilli(after.number(o.T, id, "t"))
		if record["s"] == stateDelivered {
			require.GreaterOrEqual(o, at.UnixMilli(), last, "%s/%s: out of order: %q", after.user, id, record)
			require.True(o, at.Before(expires), "%s/%s: sent after its expiry: %q", after.user, id, record)
			last = at.UnixMilli()
		}
		free := model.NextFree(sendlimit.NextFreeRequest{User: after.user, From: from, Count: 1, Now: looked})
		require.Len(o, free, 1)
		if !free[0].Before(expires) {
			require.Equal(o, messages.ReasonNoFreeTime, record["w"], "%s/%s: free at %s: %q", after.user, id, free[0], record)
			continue
		}
		reserve(id, free[0], looked)
		from = free[0]
		if record["s"] == stateDelivered {
			slack = append(slack, at.Sub(free[0]))
			continue
		}
		// It fell behind the schedule, and then no free time was left.
		require.Equal(o, messages.ReasonNoFreeTime, record["w"], "%s/%s: %q", after.user, id, record)
		slack = append(slack, time.Second)
	}
	return slack, moved
}
