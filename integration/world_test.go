package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// A world in real processes on a real Redis: workers and callers die at calls of the store, and
// workers are stopped; Redis is killed, and stands still; the queue loses its keys; the provider
// answers with 503, 429 or 400, hangs, resets, and takes what it does not answer. What is promised
// holds, as the world's verdict has it.
func TestAWorldOnRedis(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	playWorlds(t, 0, func(t *testing.T) *realWorld {
		t.Helper()
		server := redistest.Real(t, redistest.Durable()...)
		return &realWorld{T: t, worldStore: worldStore{servers: []*redistest.Server{server}, addresses: server.Addr}}
	})
}

// The same on a cluster of three masters, which are all away at once.
func TestAWorldOnACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	playWorlds(t, 0, func(t *testing.T) *realWorld {
		t.Helper()
		cluster := redistest.RealCluster(t, redistest.Durable()...)
		return &realWorld{T: t, worldStore: worldStore{servers: cluster.Nodes, addresses: strings.Join(cluster.Addrs(), ",")}}
	})
}

// The same under Sentinel. The master is away once, and has given its replica all that it took.
func TestAWorldUnderSentinel(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	playWorlds(t, 0, func(t *testing.T) *realWorld {
		t.Helper()
		sentinels := redistest.RealSentinels(t, 1, redistest.Durable()...)
		require.NoError(t, sentinels.ReplaceAfter(t.Context(), noFailover))
		return &realWorld{T: t, worldStore: worldStore{
			servers: append(slices.Clone(sentinels.Replicas), sentinels.Master), sentinels: sentinels,
			addresses: viaSentinels + strings.Join(sentinels.Addrs(), ","),
		}}
	})
}

// Workers and callers die at a call of the store, again and again, each at one of the calls that it
// has made, before or after it. Nothing that was accepted is lost, and only what a worker died
// over may arrive twice.
func TestAWorldInWhichProcessesDie(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	playWorlds(t, 24, func(t *testing.T) *realWorld {
		t.Helper()
		server := redistest.Real(t)
		return &realWorld{T: t, worldStore: worldStore{servers: []*redistest.Server{server}, addresses: server.Addr}}
	})
}

// playWorlds plays one world that is another one in each run, or as many as are asked for. More
// processes die in it than are drawn.
func playWorlds(t *testing.T, deaths int, open func(*testing.T) *realWorld) {
	t.Helper()
	seeds := sendlimittest.Seeds(t, 2)
	for _, seed := range seeds[len(seeds)-max(1, len(seeds)-1):] {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.play(seed, deaths)
		})
	}
}

// realWorld is the stage of processes on real servers.
type realWorld struct {
	*testing.T

	worldStore

	client   redis.UniversalClient
	keys     keyspace.Keys
	plan     worldtest.Plan
	story    *worldtest.Story
	provider *worldProvider
	workers  []*worldKeeper
	callers  []*worldKeeper
	made     atomic.Int64 // processes
	store    sync.Mutex   // held while the store is away

	failedOver bool // with store
	traps      bool // processes die at calls that are rare

	mu      sync.Mutex
	random  *rand.Rand
	expires map[string]time.Time // counters of charges
}

// play plays the world of a seed, in which more processes die.
func (w *realWorld) play(seed uint64, deaths int) {
	w.Helper()
	w.random = rand.New(rand.NewPCG(seed, 3))
	// By rules that change with the send time, places do not show in the end whether each was free
	// when it was taken. The others need more than messages and faults.
	config := worldtest.Config{Unit: time.Second, Length: 16 * time.Second, Without: []worldtest.Feature{
		worldtest.DatedChanges, worldtest.QuietHours,
		worldtest.Devices, worldtest.PolicyChanges, worldtest.Campaigns, worldtest.Operators, worldtest.LostReplies, worldtest.Clock,
		worldtest.Bulk, worldtest.UserSettings, worldtest.Paces, worldtest.LongRetries, worldtest.LongPauses, worldtest.OneChannelAway, worldtest.ShorterWindows, worldtest.ThrottledDates,
		worldtest.FullDays, worldtest.HourlyQuotas,
	}}
	if w.sentinels == nil && len(w.servers) == 1 && deaths == 0 {
		config.With = []worldtest.Feature{worldtest.PowerCuts, worldtest.TornTwice}
	}
	if config.Features = worldtest.Asked(); config.Features == nil && deaths > 0 {
		config.Features = []worldtest.Feature{worldtest.Accounts, worldtest.Categories, worldtest.Moves, worldtest.Edits, worldtest.Stops, worldtest.ProviderFaults}
	}
	w.plan = worldtest.Draw(seed, config)
	for _, p := range w.plan.Policies { // a world does not live to see the next hour
		for i, rule := range p.Rules {
			if _, window, _ := strings.Cut(rule, "/"); strings.HasPrefix(window, "calendar_") {
				p.Rules[i] = "1000/" + window
			}
		}
	}
	for i := range deaths {
		e := worldtest.Event{Do: worldtest.StopWorker, At: w.plan.Unit + w.plan.Length*time.Duration(i)/time.Duration(deaths)}
		if i%4 == 3 {
			e.Do = worldtest.StopCaller
		}
		e.Call, e.After = w.random.IntN(8), w.random.IntN(2) == 0
		w.plan.Events = append(w.plan.Events, e)
	}
	w.traps = deaths > 0
	w.plan.Horizon = min(w.plan.Horizon, 10*w.plan.Unit)
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("began at %s\n%s", w.story.Began, w.plan)
		}
	})
	w.expires = make(map[string]time.Time)
	w.client = worldClient(w.addresses)
	w.Cleanup(func() { require.NoError(w, w.client.Close()) })
	var err error
	w.keys, err = keyspace.NewKeys("")
	require.NoError(w, err)
	w.provider = newWorldProvider(w.T)
	w.story = &worldtest.Story{
		Plan: w.plan, Began: time.Now().Truncate(time.Millisecond).UTC(), Lease: worldLease, Client: w.client,
		Halted: make(map[string]bool), Charged: make(map[string]int),
		Real: &worldtest.Real{
			Tolerance: worldTolerance, Way: time.Second, Told: 5 * time.Second,
			Aftermath: worldLease + 4*time.Second, // leases end, retries and pauses too, and connections are made again
		},
	}
	policies := worldtest.SetUp(w, w.story)
	require.NotEmpty(w, policies)
	stop := w.work()
	defer stop()
	endWatch := w.watch()
	told := make(chan struct{})
	go func() {
		defer close(told)
		w.tell()
	}()
	for looking := deaths > 0; looking; { // no store is away there
		select {
		case <-told:
			looking = false
		case <-time.After(500 * time.Millisecond):
			require.Empty(w, w.stateFaults())
		}
	}
	<-told
	w.untilAllEnds()
	w.followFreeTimes()
	w.untilAllEnds()
	require.Eventually(w, w.alertsTold, time.Minute, 200*time.Millisecond, "alerts are not told")
	endWatch()
	stop()
	w.noteCharges()
	w.noteProcesses()
	w.story.Ended = time.Now()
	w.story.Arrivals, w.story.Mails = w.provider.got()
	faults := append(worldtest.Judge(w, w.story), w.stateFaults()...)
	w.Logf("%v: %d arrivals, %d mails, %d halted, %s", w.plan.Features, len(w.story.Arrivals), len(w.story.Mails), len(w.story.Halted), time.Since(w.story.Began))
	require.Empty(w, faults, "%s", strings.Join(faults, "\n"))
	require.NotEmpty(w, w.story.Arrivals)
}

// work starts workers and callers, and waits until they work. The returned function ends them.
func (w *realWorld) work() (stop func()) {
	w.Helper()
	end := make(chan struct{})
	var keeping sync.WaitGroup
	start := func(kind string) *worldKeeper {
		k := &worldKeeper{
			next: func(c *worldConfig) {
				n := int(w.made.Add(1))
				c.Name, c.Ahead = fmt.Sprintf("%s-%d", kind, n), w.plan.ClockOf(n)
				if w.traps {
					c.Death = w.trap(c.Caller)
				}
			},
			config: worldConfig{
				Caller: kind == "caller", Addresses: w.addresses, Provider: w.provider.URL(),
				Horizon: w.plan.Horizon, Places: w.plan.PlacesPerDay, Skip: w.plan.Skip, Batch: w.upTo(2) == 0, HTTP: kind == "caller" && w.upTo(2) == 0,
			},
		}
		keeping.Go(func() { k.keep(w.T, end) })
		return k
	}
	for range w.plan.Workers {
		w.workers = append(w.workers, start("worker"))
	}
	for range 2 {
		w.callers = append(w.callers, start("caller"))
	}
	all := slices.Concat(w.workers, w.callers)
	for _, k := range all {
		require.Eventually(w, k.works, 30*time.Second, 10*time.Millisecond)
	}
	return sync.OnceFunc(func() {
		close(end)
		keeping.Wait()
		for _, k := range all {
			k.goAway(syscall.SIGTERM)
		}
	})
}

func (w *realWorld) upTo(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *realWorld) untilAllEnds() {
	w.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		open := w.open()
		if len(open) == 0 {
			return
		}
		require.True(w, time.Now().Before(end), "not ended: %v", open)
	}
}

// followFreeTimes submits, now that nobody else does anything, for times of which many are taken.
// A free time that a refusal names is then accepted. All are cancelled in the end.
func (w *realWorld) followFreeTimes() {
	w.Helper()
	ask := func(e worldtest.Event) message.Outcome {
		for !w.Failed() {
			a := w.ask(e, worldOrder{Do: e.Do, Message: message.Message{
				ID: e.ID, User: e.User, SendAt: w.at(e.SendAt), Title: worldtest.FirstTitle, Category: e.Category, Account: e.Account,
			}})
			if a.Err == nil { // otherwise a caller died
				return a.Got
			}
		}
		return message.Outcome{}
	}
	var asked []worldtest.Event
	base := time.Since(w.story.Began).Truncate(time.Millisecond) + 10*time.Minute
	for n := range 20 {
		e := worldtest.Event{
			Do: worldtest.Submit, User: w.plan.Users[w.upTo(2)].Name, ID: fmt.Sprintf("free-%d", n), SendAt: base + time.Duration(w.upTo(6000))*time.Millisecond,
		}
		if w.plan.Has(worldtest.Categories) {
			e.Category = []string{worldtest.CategoryNone, worldtest.CategoryNews, worldtest.CategoryOffers}[w.upTo(3)]
		}
		if len(w.plan.Accounts) > 0 {
			e.Account = w.plan.Accounts[w.upTo(2)].Name
		}
		asked, w.plan.Events = append(asked, e), append(w.plan.Events, e)
		refused := ask(e)
		free := []time.Time{refused.NextFreeAt.Time, refused.PreviousFreeAt.Time}[w.upTo(2)]
		if free.IsZero() {
			continue
		}
		require.Eventually(w, func() bool { // the charge of what was refused is given back in the background
			holds, err := w.keysLike(w.keys.Prefix() + ":{p*}:holds")
			return err == nil && len(holds) == 0
		}, time.Minute, 10*time.Millisecond)
		e.ID, e.SendAt = e.ID+"f", free.Sub(w.story.Began)
		asked = append(asked, e)
		got := ask(e)
		require.Equal(w, message.Accepted, got.Outcome, "%s was named as free by %+v: %+v", free, refused, got)
	}
	for _, e := range asked {
		e.Do = worldtest.Cancel
		ask(e)
	}
}

func (w *realWorld) at(after time.Duration) time.Time { return w.story.Began.Add(after).UTC() }

// latest is the last time that anybody asks for.
func (w *realWorld) latest() time.Duration { return w.plan.Length + 3*w.plan.Unit }

// tell lets the events happen at their times.
func (w *realWorld) tell() {
	w.Helper()
	var happening sync.WaitGroup
	for _, e := range w.plan.Events {
		happening.Go(func() {
			time.Sleep(time.Until(w.at(e.At)))
			w.happen(e)
		})
	}
	happening.Wait()
}

func (w *realWorld) happen(e worldtest.Event) {
	e.SendAt = min(e.SendAt, w.latest())
	switch e.Do {
	case worldtest.Submit, worldtest.DryRun:
		var submitting sync.WaitGroup
		for n := range max(1, e.Together) {
			one := e
			if e.Together > 1 {
				one.ID = fmt.Sprintf("%s-%d", e.ID, n)
			}
			submitting.Go(func() { w.submit(one) })
		}
		submitting.Wait()
	case worldtest.Change, worldtest.Edit, worldtest.Cancel:
		o := worldOrder{Do: e.Do, Message: message.Message{ID: e.ID, User: e.User, Account: e.Account, SendAt: w.at(e.SendAt)}}
		if e.Title != "" {
			o.Patch.Edit.Title = &e.Title
		}
		if e.Do == worldtest.Change {
			o.Patch.Move = &message.Move{At: o.Message.SendAt}
			if e.Shift {
				o.Patch.Move.OnConflict, o.Patch.Move.ShiftUntil = message.OnConflictShift, w.at(w.latest())
				o.Message.ShiftUntil = o.Patch.Move.ShiftUntil
			}
		}
		w.ask(e, o)
	default:
		w.fail(e)
	}
}

// submit submits a message, and once more at a free time that a refusal names.
func (w *realWorld) submit(e worldtest.Event) {
	m := message.Message{ID: e.ID, User: e.User, SendAt: w.at(e.SendAt), Title: worldtest.FirstTitle, Category: e.Category, Account: e.Account}
	if e.Shift {
		m.OnConflict, m.ShiftUntil = message.OnConflictShift, w.at(w.latest())
	}
	if e.Expires > 0 {
		m.ExpiresAt = m.SendAt.Add(e.Expires)
	}
	a := w.ask(e, worldOrder{Do: e.Do, Message: m})
	next := a.Got.NextFreeAt.Time
	if !e.Follow || a.Got.Outcome != message.Refused || next.IsZero() || next.After(w.at(w.latest())) {
		return
	}
	m.ID, m.SendAt, m.ExpiresAt = e.ID+"f", next, time.Time{}
	e.ID, e.Do, e.Expires = m.ID, worldtest.Submit, 0
	w.ask(e, worldOrder{Do: worldtest.Submit, Message: m})
}

// ask has a caller do something, again until there is an answer, and notes it. What a dry run says
// is not compared: others may come before the submit.
func (w *realWorld) ask(e worldtest.Event, o worldOrder) worldtest.Answer {
	a := worldtest.Answer{Event: e, Message: o.Message, Began: time.Now()}
	if o.Do == worldtest.DryRun {
		_, _ = w.caller().ask(o) // it may end meanwhile
		o.Do = worldtest.Submit
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r, err := w.caller().ask(o)
		a.Got, a.Err, a.Ended = r.Got, err, time.Now()
		if err == nil && r.Err == "" {
			break
		}
		a.Unclear = true
		if err == nil {
			a.Err = fmt.Errorf("%s", r.Err)
			if !r.Away {
				w.Errorf("%s: %s", e, r.Err)
				break
			}
		} else if w.upTo(2) == 0 {
			break // nobody repeats it
		}
		if time.Now().After(end) {
			w.Errorf("%s: no answer: %v", e, a.Err)
			break
		}
	}
	w.story.NoteAnswer(a)
	return a
}

// caller returns a caller that works, or was started.
func (w *realWorld) caller() *worldLife {
	for {
		first := w.upTo(len(w.callers))
		for i := range w.callers {
			if l := w.callers[(first+i)%len(w.callers)].last(); l != nil && !l.isOver() {
				return l
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// open lists where the store has messages that have not ended, charges that are not settled, notices
// that are not told, or events that are not gathered.
func (w *realWorld) open() (open []string) {
	for _, pattern := range []string{":{p*}:far:*", ":{p*}:holds", ":{p*}:watch", ":{p*}:notices"} {
		keys, err := w.keysLike(w.keys.Prefix() + pattern)
		if err != nil {
			return []string{err.Error()}
		}
		for _, key := range keys {
			open = append(open, fmt.Sprintf("%s: %v", key, w.client.ZRangeWithScores(w.Context(), key, 0, -1)))
		}
	}
	streams, err := w.keysLike(w.keys.Prefix() + ":{p*}:events")
	for _, key := range streams {
		if err == nil && w.client.XLen(w.Context(), key).Val() > 0 {
			open = append(open, key)
		}
	}
	if err != nil {
		open = append(open, err.Error())
	}
	for _, u := range w.plan.Users {
		if n, err := w.client.Exists(w.Context(), w.keys.Near(u.Name)).Result(); err != nil || n > 0 {
			open = append(open, fmt.Sprintf("%s has messages: %v", u.Name, err))
		}
	}
	return open
}

// stateFaults lists what must never be in the store, whoever died: see userState.
func (w *realWorld) stateFaults() (faults []string) {
	w.Helper()
	ids := make(map[string][]string)
	for _, e := range w.plan.Events {
		if e.Do == worldtest.Submit || e.Do == worldtest.DryRun {
			ids[e.User] = append(ids[e.User], e.ID, e.ID+"f")
			for n := range e.Together {
				one := fmt.Sprintf("%s-%d", e.ID, n)
				ids[e.User] = append(ids[e.User], one, one+"f")
			}
		}
	}
	store := newCrashStore(w.T, w.client, "")
	for user, of := range ids {
		faults = append(faults, store.state(w.T, user, of).faults(w.T)...)
	}
	return faults
}

// alertsTold reports whether the contacts of accounts have been told what they are to be told.
func (w *realWorld) alertsTold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, mails := w.provider.got()
	for _, a := range w.plan.Accounts {
		for key, n := range w.story.Charged {
			if !strings.Contains(key, ":q:"+a.Name+":d:") {
				continue
			}
			for _, percent := range []int64{80, 100} {
				if int64(n)*100 >= percent*a.PerDay && !slices.ContainsFunc(mails, func(m worldtest.Mail) bool {
					return m.To == a.Name+"@example.com" && int64(m.Percent) >= percent
				}) {
					return false
				}
			}
		}
	}
	return true
}

// noteCharges notes what is charged, before the store forgets it.
func (w *realWorld) noteCharges() {
	keys, err := w.keysLike(w.keys.Prefix() + ":{p*}:q:*")
	if err != nil {
		return // the store is away
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		n, err := w.client.Get(w.Context(), key).Int()
		left, errOfTime := w.client.PTTL(w.Context(), key).Result()
		if err == nil && errOfTime == nil && left > 0 { // else it was given back in between
			w.story.Charged[key], w.expires[key] = n, time.Now().Add(left)
		}
	}
	for key := range w.story.Charged {
		if !slices.Contains(keys, key) && time.Now().Add(time.Second).Before(w.expires[key]) {
			delete(w.story.Charged, key) // all were given back
		}
	}
}

// machineStall is the longest gap that nothing is made late by.
const machineStall = 250 * time.Millisecond

// watch notes what is charged, and when the machine, or Redis while it is there, stands still for
// longer than messages bear: that is an outage, too. The returned function ends it.
func (w *realWorld) watch() (end func()) {
	ctx, stop := context.WithCancel(w.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		client := worldClient(w.addresses)
		for last := time.Now(); ctx.Err() == nil; {
			time.Sleep(20 * time.Millisecond)
			_ = client.Ping(ctx).Err() // how long it takes counts
			now := time.Now()
			if now.Sub(last) > machineStall {
				w.story.NoteAway(worldtest.Away{What: worldtest.Machine, From: last, Until: now})
			}
			last = now
		}
		_ = client.Close()
	})
	watching.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			w.noteCharges()
		}
	})
	return sync.OnceFunc(func() {
		stop()
		watching.Wait()
	})
}
