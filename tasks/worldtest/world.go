package worldtest

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Times of all workers of a virtual world.
const (
	pushTimeout  = 3 * time.Second
	settleMargin = 10 * time.Second
)

// polling is how often workers ask the queue. The programs' default would take most of a world's time.
func polling() queue.Polling { return queue.Polling{Forward: 4 * time.Second, Fetch: 2 * time.Second} }

// world is the stage in one process, on the embedded store, in virtual time.
type world struct {
	*testing.T

	plan      Plan
	story     *Story
	servers   redistest.Masters
	scheduler *scheduler
	provider  *provider
	mail      *mail
	keys      keyspace.Keys
	end       chan struct{}
	random    *lockedRand
	timelines map[string]string    // users by the keys of their timelines
	running   sync.WaitGroup       // workers
	expires   map[string]time.Time // counters of charges

	storeAway   atomic.Bool
	slow, ahead atomic.Int64 // lengths of time
	downWorkers atomic.Bool
	made        atomic.Int64 // processes

	mu       sync.Mutex
	places   map[string]map[string]float64 // by user and id
	calls    int
	seen     map[string]bool // scripts that were called
	callers  []*caller
	former   []*caller // that were stopped
	workers  []*worker
	loses    []*countdown
	stops    map[string]*countdown // by process
	policies []policy.Policy
}

// lockedRand is a source of chance for several goroutines.
type lockedRand struct {
	mu sync.Mutex
	*rand.Rand
}

func (r *lockedRand) upTo(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.IntN(n)
}

// Play plays a plan in virtual time, and calls judge with its story before the store is closed. judge
// gets the test of the bubble, and must not end it.
func Play(t *testing.T, p Plan, judge func(testing.TB, *Story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Second) }) // the client library takes a second to notice
		w := newWorld(t, p)
		go w.scheduler.run()
		w.begin()
		w.tell()
		w.finish()
		judge(t, w.story)
		_ = w.story.Client.Close()
		close(w.scheduler.ended)
	})
}

func newWorld(t *testing.T, p Plan) *world {
	t.Helper()
	names := make(map[string]string)
	for hash, name := range lua.NamesByHash() {
		names[hash] = name
	}
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	w := &world{
		T: t, plan: p, scheduler: newScheduler(p.Seed, names), keys: keys,
		end: make(chan struct{}), random: &lockedRand{Rand: rand.New(rand.NewPCG(p.Seed, 3))},
		expires: make(map[string]time.Time), timelines: make(map[string]string), places: make(map[string]map[string]float64), stops: make(map[string]*countdown),
		seen: make(map[string]bool),
	}
	w.provider, w.mail = newProvider(time.Now), &mail{now: time.Now}
	w.story = &Story{
		Plan: p, Began: time.Now(), Lease: pushTimeout + settleMargin, Halted: make(map[string]bool), Charged: make(map[string]int),
		Ahead: make(map[string]time.Duration), ExpireAfter: 40 * time.Minute, Polling: polling().Forward + 2*polling().Fetch,
	}
	w.servers = redistest.Apart(t, func() time.Duration { return time.Duration(w.ahead.Load()) }, p.Masters...)
	w.story.Client = w.servers.Client(nil)
	w.scheduler.admits, w.scheduler.observe, w.scheduler.users = w.admits, w.observe, w.users
	for _, u := range p.Users {
		w.timelines[keys.Timeline(u.Name)] = u.Name
		w.places[u.Name] = make(map[string]float64)
		w.story.Ahead[u.Name] = w.aheadOf(u.Name)
	}
	return w
}

// aheadOf returns how far the clock of the master that has a user is ahead.
func (w *world) aheadOf(user string) time.Duration {
	cluster, ok := w.story.Client.(*redis.ClusterClient)
	if !ok {
		return 0
	}
	master, err := cluster.MasterForKey(w.Context(), w.keys.Timeline(user))
	require.NoError(w, err)
	now, err := master.Time(w.Context()).Result()
	require.NoError(w, err)
	return time.Until(now).Round(time.Second)
}

// begin creates users, accounts and policies, and starts workers and callers.
func (w *world) begin() {
	w.policies = SetUp(w, w.story)
	for range 3 {
		w.callers = append(w.callers, w.newCaller())
	}
	for range w.plan.Workers {
		w.startWorker()
	}
}

// tell carries out the events at their times, and waits until all messages have ended.
func (w *world) tell() {
	var happening sync.WaitGroup
	for _, e := range w.plan.Events {
		w.until(e.At)
		happening.Go(func() { w.happen(e) })
	}
	w.until(w.plan.Length)
	done := make(chan struct{})
	go func() {
		happening.Wait()
		close(done)
	}()
	most := 4 * time.Hour
	if w.plan.Has(FullDays) { // some messages are due tomorrow
		most = 90 * time.Minute
	}
	for ended := false; !ended; {
		w.until(time.Since(w.story.Began) + time.Minute)
		select {
		case <-done:
			w.noteCharges()
			ended = !w.open() || time.Since(w.story.Began) > w.plan.Length+most
		default:
			require.Less(w, time.Since(w.story.Began), 3*24*time.Hour, "a request has no end")
		}
	}
}

// forgets is how often the store removes expired keys: a new key expires up to that much earlier.
const forgets = 2 * time.Second

// until lets time pass.
func (w *world) until(after time.Duration) {
	for {
		left := time.Until(w.story.Began.Add(after))
		if left <= 0 {
			return
		}
		next := time.Until(time.Now().Truncate(forgets).Add(forgets))
		time.Sleep(min(left, next))
		if left >= next {
			w.forgetAll()
		}
	}
}

// forgetAll removes the expired keys of the store.
func (w *world) forgetAll() {
	if time.Now().Truncate(time.Minute).Equal(time.Now().Truncate(forgets)) {
		w.noteCharges()
	}
	for _, server := range w.servers {
		server.FastForward(forgets)
	}
}

// noteCharges notes the charges, before the store forgets them.
func (w *world) noteCharges() {
	for _, key := range w.servers.Keys() {
		if strings.HasPrefix(key, w.keys.Prefix()+":{p") && (strings.Contains(key, "}:q:") || strings.Contains(key, "}:back:")) {
			server := w.servers.With(key)
			text, _ := server.Get(key)
			n, err := strconv.Atoi(text)
			if left := server.TTL(key); err == nil && left > 0 { // else it was given back meanwhile
				w.story.Charged[key], w.expires[key] = n, time.Now().Add(left)
			}
		}
	}
	for key := range w.story.Charged {
		if !w.servers.With(key).Exists(key) && time.Now().Add(time.Minute).Before(w.expires[key]) {
			delete(w.story.Charged, key) // all were given back
		}
	}
}

// open reports whether a message has not ended, or a charge is not settled.
func (w *world) open() bool {
	for _, u := range w.plan.Users {
		if key := w.keys.Near(u.Name); w.servers.With(key).Exists(key) {
			return true
		}
	}
	for _, key := range w.servers.Keys() {
		if kindOf(key) == "far" || kindOf(key) == "holds" {
			return true
		}
	}
	return false
}

// finish stops all callers and workers.
func (w *world) finish() {
	time.Sleep(10 * time.Second)
	w.mu.Lock()
	for _, live := range w.workers {
		live.stop()
	}
	w.mu.Unlock()
	w.downWorkers.Store(true)
	close(w.end)
	w.running.Wait()
	for _, c := range append(w.former, w.callers...) {
		_ = c.Close()
		_ = c.client.Close()
	}
	w.story.Ended = time.Now()
	w.story.Arrivals, w.story.Mails, w.story.Trace = w.provider.Arrivals(), w.mail.taken, w.scheduler.Trace()
}
