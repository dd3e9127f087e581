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
	// traps are scripts at which processes die, by whether they are callers; nil for none.
	traps map[bool][]string

	mu      sync.Mutex
	random  *rand.Rand
	expires map[string]time.Time // counters of charges
	// erasures counts the beginnings and ends of erasures of a user. Its data goes part by part.
	erasures map[string]int
}

// play plays the world of a seed, in which more processes die.
func (w *realWorld) play(seed uint64, deaths int) {
	w.Helper()
	w.random = rand.New(rand.NewPCG(seed, 3))
	// By rules that change with the send time, places do not show in the end whether each was free
	// when it was taken. The others need more than messages and faults.
	config := worldtest.Config{Unit: time.Second, Length: 16 * time.Second, Without: []worldtest.Feature{
		worldtest.DatedChanges, worldtest.QuietHours, worldtest.LostReplies, worldtest.Clock, worldtest.Bulk, worldtest.Paces, worldtest.LongRetries, worldtest.LongPauses, worldtest.OneChannelAway, worldtest.ShorterWindows, worldtest.ThrottledDates,
		worldtest.FullDays, worldtest.HourlyQuotas,
	}}
	if w.sentinels == nil && len(w.servers) == 1 && deaths == 0 {
		config.With = []worldtest.Feature{worldtest.PowerCuts, worldtest.TornTwice}
	}
	if config.Features = worldtest.Asked(); config.Features == nil && deaths > 0 {
		config.Features = []worldtest.Feature{worldtest.Accounts, worldtest.Categories, worldtest.Moves, worldtest.Edits, worldtest.Stops, worldtest.ProviderFaults}
		for _, f := range []worldtest.Feature{
			worldtest.Campaigns, worldtest.Operators, worldtest.Devices, worldtest.MovingPhones, worldtest.PolicyChanges, worldtest.UserSettings,
		} {
			if w.random.IntN(2) == 0 {
				config.Features = append(config.Features, f)
			}
		}
	}
	w.plan = worldtest.Draw(seed, config)
	policies := slices.Clone(w.plan.Policies)
	for _, e := range w.plan.Events {
		if e.Policy != nil {
			policies = append(policies, *e.Policy)
		}
	}
	for _, p := range policies { // a world does not live to see the next hour
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
	if deaths > 0 {
		w.traps = make(map[bool][]string)
	}
	w.plan.Horizon = min(w.plan.Horizon, 10*w.plan.Unit)
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("began at %s\n%s", w.story.Began, w.plan)
		}
	})
	w.expires, w.erasures = make(map[string]time.Time), make(map[string]int)
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
	require.NotEmpty(w, worldtest.SetUp(w, w.story))
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
	if w.plan.Has(worldtest.Campaigns) { // a pause that was repeated may be later than the end of the pause
		for _, name := range []string{"spring", "autumn"} {
			w.operate(worldtest.Event{Do: worldtest.ResumeCampaign, Campaign: name})
		}
	}
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
				if w.traps != nil {
					c.Death = w.trap(c.Caller)
				}
			},
			config: worldConfig{
				Caller: kind == "caller", Addresses: w.addresses, Provider: w.provider.URL(),
				Devices: w.plan.HasDevices(), Began: w.story.Began, Horizon: w.plan.Horizon, Places: w.plan.PlacesPerDay, Skip: w.plan.Skip, Batch: w.upTo(2) == 0, HTTP: kind == "caller" && w.upTo(2) == 0,
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
	case worldtest.Put:
		w.ask(e, worldOrder{Do: e.Do, Message: w.message(e)})
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
	case worldtest.CancelCampaign, worldtest.ReopenCampaign, worldtest.MoveCampaign, worldtest.PauseCampaign, worldtest.ResumeCampaign, worldtest.StopSending, worldtest.ApplyPolicy,
		worldtest.Rollback, worldtest.SetPolicyOf, worldtest.Block, worldtest.OptOut, worldtest.OptOutOfAll, worldtest.Disturb, worldtest.Refit, worldtest.Erase,
		worldtest.RetryDead, worldtest.AddDevices, worldtest.RemoveDevices, worldtest.MovePhone:
		w.operate(e)
	default:
		w.fail(e)
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

// stateFaults lists what must never be in the store, whoever died: see userState. It says nothing
// about a user who is being erased.
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
		before := w.countErasures(user, 0)
		found := store.state(w.T, user, of).faults(w.T)
		if before%2 == 0 && w.countErasures(user, 0) == before {
			faults = append(faults, found...)
		}
	}
	return faults
}

// countErasures adds to the beginnings and ends of erasures of a user, and returns their number.
func (w *realWorld) countErasures(user string, more int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.erasures[user] += more
	return w.erasures[user]
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
