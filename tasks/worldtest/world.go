package worldtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// Times of all workers of a virtual world.
const (
	pushTimeout  = 3 * time.Second
	settleMargin = 10 * time.Second
)

// polling is how often workers ask the queue. To ask as often as programs do would take most of a
// world.
func polling() queue.Polling { return queue.Polling{Forward: 4 * time.Second, Fetch: 2 * time.Second} }

// world is the stage in one process, on the embedded store, in virtual time.
type world struct {
	*testing.T

	plan      Plan
	story     *Story
	server    *miniredis.Miniredis
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
	callers  []*caller
	former   []*caller // that were stopped
	workers  []*worker
	loses    []*countdown
	stops    map[string]*countdown // by process
	policies []policy.Policy
}

// countdown waits for a call.
type countdown struct {
	left  int
	after bool
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

// Play plays a plan in virtual time, and has its story judged while the store is still there. The
// test that judge gets is that of the bubble; judge must not end it.
func Play(t *testing.T, p Plan, judge func(testing.TB, *Story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p)
		go w.scheduler.run()
		w.begin()
		w.tell()
		w.finish()
		judge(t, w.story)
		_ = w.story.Client.Close()
		w.server.Close()
		close(w.scheduler.ended)
		time.Sleep(2 * time.Second) // the client library takes a second to notice
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
		T: t, plan: p, server: miniredis.NewMiniRedis(), scheduler: newScheduler(p.Seed, names), keys: keys,
		end: make(chan struct{}), random: &lockedRand{Rand: rand.New(rand.NewPCG(p.Seed, 3))},
		expires: make(map[string]time.Time), timelines: make(map[string]string), places: make(map[string]map[string]float64), stops: make(map[string]*countdown),
	}
	w.provider, w.mail = newProvider(time.Now), &mail{now: time.Now}
	w.story = &Story{
		Plan: p, Began: time.Now(), Lease: pushTimeout + settleMargin, Halted: make(map[string]bool), Charged: make(map[string]int),
		ExpireAfter: 40 * time.Minute, Polling: polling().Forward + 2*polling().Fetch,
	}
	w.story.Client = w.connect(nil)
	w.scheduler.admits, w.scheduler.observe, w.scheduler.users = w.admits, w.observe, w.users
	for _, u := range p.Users {
		w.timelines[keys.Timeline(u.Name)] = u.Name
		w.places[u.Name] = make(map[string]float64)
	}
	require.NoError(t, w.story.Client.Ping(t.Context()).Err()) // the server begins with its first connection
	redistest.AnswerIdlePolls(w.server, w.tellTime)
	return w
}

// tellTime answers TIME where the clock of the store is ahead.
func (w *world) tellTime(peer *server.Peer, command string, _ ...string) bool {
	by := time.Duration(w.ahead.Load())
	if command != "TIME" || by == 0 {
		return false
	}
	now := time.Now().Add(by)
	peer.WriteLen(2)
	peer.WriteBulk(strconv.FormatInt(now.Unix(), 10))
	peer.WriteBulk(strconv.Itoa(now.Nanosecond() / 1000))
	return true
}

// connect returns a client, whose calls wait for their turn if it has a process.
func (w *world) connect(p *process) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			pipe, err := w.server.Dial()
			if err != nil {
				return nil, err //nolint:wrapcheck // the client compares it
			}
			return redistest.Buffered(pipe), nil
		},
		PoolSize: 64, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if p != nil {
		client.AddHook(p)
	}
	return client
}

// begin sets up who there is, and starts workers and callers.
func (w *world) begin() {
	w.policies = SetUp(w, w.story)
	for range 3 {
		w.callers = append(w.callers, w.newCaller())
	}
	for range w.plan.Workers {
		w.startWorker()
	}
}

// stored reads the policies, the default one first.
func (w *world) stored() []policy.Policy { return stored(w, w.story) }

// backend opens the store for a process.
func (w *world) backend(client redis.UniversalClient) *backend.Backend {
	return taskstest.Open(w, client, backend.Options{
		Horizon: w.plan.Horizon, PlacesPerDay: w.plan.PlacesPerDay, ExpireAfter: w.story.ExpireAfter,
		Polling: polling(),
	})
}

func (w *world) newProcess(kind string) (*process, *redis.Client) {
	p := newProcess(fmt.Sprintf("%s-%d", kind, w.made.Add(1)), w.scheduler, w.end)
	p.slow = func() time.Duration { return time.Duration(w.slow.Load()) }
	return p, w.connect(p)
}

// worker is a worker that runs.
type worker struct {
	*process

	stop context.CancelFunc
}

// startWorker starts a worker, and another one when it is stopped for good.
func (w *world) startWorker() {
	p, client := w.newProcess("worker")
	b := w.backend(client)
	o := tasks.WorkerOptions{
		PushTimeout: pushTimeout, SettleMargin: settleMargin, ShutdownTimeout: 2 * pushTimeout, RelayEvery: time.Minute,
		Retries: retry.Policy{Min: time.Second, Max: 10 * time.Second, Attempts: 1000}, OnUncertain: deliver.ResendUncertain,
		Announcer: &announcer{p, w.mail, w.fate},
	}
	if w.plan.Skip {
		o.OnUncertain = deliver.SkipUncertain
	}
	for _, name := range []string{notifier.ChannelWebhook, notifier.ChannelFCM, notifier.ChannelAPNs} {
		if name == notifier.ChannelWebhook || w.plan.Has(Devices) || w.plan.Has(OneChannelAway) {
			o.Channels = append(o.Channels, channels.Setup{
				Name: name, Notifier: &channel{name, p, w.provider, w.fate}, HasDevices: name != notifier.ChannelWebhook,
			})
		}
	}
	run, err := tasks.NewWorker(b, o)
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	started := &worker{process: p, stop: cancel}
	w.mu.Lock()
	w.workers = append(w.workers, started)
	w.mu.Unlock()
	w.running.Go(func() {
		ran := make(chan error, 1)
		go func() { ran <- run.Run(ctx) }()
		var err error
		select {
		case <-p.died:
			w.forget(started)
			w.story.halted(p.name)
			w.restart(ctx)
			<-w.end
			cancel()
			err = <-ran
		case err = <-ran:
			w.forget(started)
			if ctx.Err() == nil { // it found no store
				require.Error(w, err)
				w.restart(ctx)
			}
		}
		if err != nil {
			time.Sleep(2 * time.Minute) // goroutines may use the client still
		}
		_ = client.Close()
	})
}

// restart starts another worker in a moment, as a service manager does.
func (w *world) restart(ctx context.Context) {
	wait(ctx, time.Second)
	select {
	case <-w.end:
	default:
		if !w.downWorkers.Load() {
			w.startWorker()
		}
	}
}

func (w *world) forget(of *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.workers = slices.DeleteFunc(w.workers, func(o *worker) bool { return o == of })
}

// caller is a program that submits messages, and works for operators.
type caller struct {
	*process
	*submit.Submitter

	backend *backend.Backend
	client  *redis.Client
	busy    bool // with a request
}

func (w *world) newCaller() *caller {
	p, client := w.newProcess("caller")
	b := w.backend(client)
	s, err := submit.New(b, submit.Options{Batch: w.random.upTo(2) == 0})
	require.NoError(w, err)
	c := &caller{process: p, Submitter: s, backend: b, client: client}
	go func() { _ = b.Listen.Load(context.Background()) }()
	return c
}

// idle returns a caller that lives and does nothing else, until it is released.
func (w *world) idle() *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.callers {
		if !c.busy && !c.isStopped() {
			c.busy = true
			return c
		}
	}
	if w.ahead.Load() != 0 { // one that starts now takes the clock as it is
		return w.callers[0]
	}
	c := w.newCaller()
	c.busy = true
	w.callers = append(w.callers, c)
	return c
}

func (w *world) release(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.busy = false
}

// caller returns one that lives, and replaces those that were stopped. Others may use it, too.
func (w *world) caller() *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.random.upTo(min(3, len(w.callers)))
	if w.callers[i].isStopped() {
		w.former = append(w.former, w.callers[i])
		w.callers[i] = w.newCaller()
	}
	return w.callers[i]
}

// admits decides what becomes of a call.
func (w *world) admits(c Call) fate {
	if what := w.fate("", c.Process); what != answered {
		return what
	}
	if w.storeAway.Load() {
		return refused
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, l := range w.loses {
		if l.left--; l.left < 0 {
			w.loses = slices.Delete(w.loses, i, i+1)
			if l.after {
				return repeated
			}
			return lost
		}
	}
	return answered
}

// fate decides whether a process is stopped at a call.
func (w *world) fate(_, process string) fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stops[process]
	if s == nil {
		return answered
	}
	if s.left--; s.left >= 0 {
		return answered
	}
	delete(w.stops, process)
	if s.after {
		return lastly
	}
	return stopped
}

// observe notes what a call has changed in the timelines of users.
func (w *world) observe(c Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	for _, user := range c.Users {
		w.compare(c, w.keys.Timeline(user), user)
	}
}

// users returns whose timelines a call may change.
func (w *world) users(cmds []redis.Cmder) (users []string) {
	for _, cmd := range cmds {
		for _, arg := range cmd.Args() {
			key, _ := arg.(string)
			if user, ok := w.timelines[key]; ok && !slices.Contains(users, user) {
				users = append(users, user)
			}
		}
	}
	return users
}

func (w *world) compare(c Call, key, user string) {
	stored, _ := w.server.SortedSet(key) // an error says that there is none
	now := maps.Clone(stored)
	before := w.places[user]
	note := func(id string, from, to time.Time) {
		w.story.placed(Placement{Call: w.calls, At: c.At, Process: c.Process, By: c.Names[0], User: user, ID: id, From: from, To: to})
	}
	for id, at := range before {
		if _, ok := now[id]; !ok {
			note(id, unixMilli(at), time.Time{})
		}
	}
	for id, at := range now {
		switch from, ok := before[id]; {
		case !ok:
			note(id, time.Time{}, unixMilli(at))
		case from != at:
			note(id, unixMilli(from), unixMilli(at))
		}
	}
	if now == nil {
		now = make(map[string]float64)
	}
	w.places[user] = now
}

func unixMilli(ms float64) time.Time { return time.UnixMilli(int64(ms)).UTC() }

// tell lets the events happen at their times, and time pass until all has ended.
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
	for ended := false; !ended; {
		time.Sleep(time.Minute)
		w.server.FastForward(time.Minute)
		select {
		case <-done:
			w.noteCharges()
			ended = !w.open() || time.Since(w.story.Began) > w.plan.Length+4*time.Hour
		default:
			require.Less(w, time.Since(w.story.Began), 3*24*time.Hour, "a request has no end")
		}
	}
}

// until lets time pass. What the store is to forget, it forgets each minute.
func (w *world) until(after time.Duration) {
	for {
		left := time.Until(w.story.Began.Add(after))
		if left <= 0 {
			return
		}
		next := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute))
		time.Sleep(min(left, next))
		if left >= next {
			w.noteCharges()
			w.server.FastForward(time.Minute)
		}
	}
}

// noteCharges notes what is charged, before the store forgets it.
func (w *world) noteCharges() {
	for _, key := range w.server.Keys() {
		if strings.HasPrefix(key, w.keys.Prefix()+":{p") && strings.Contains(key, "}:q:") {
			text, _ := w.server.Get(key)
			w.story.Charged[key], _ = strconv.Atoi(text)
			w.expires[key] = time.Now().Add(w.server.TTL(key))
		}
	}
	for key := range w.story.Charged {
		if !w.server.Exists(key) && time.Now().Add(time.Minute).Before(w.expires[key]) {
			delete(w.story.Charged, key) // all were given back
		}
	}
}

// open reports whether some message has not ended, or some charge is not settled.
func (w *world) open() bool {
	for _, u := range w.plan.Users {
		for _, key := range []string{w.keys.Near(u.Name)} {
			if w.server.Exists(key) {
				return true
			}
		}
	}
	for _, key := range w.server.Keys() {
		if kindOf(key) == "far" || kindOf(key) == "holds" {
			return true
		}
	}
	return false
}

// finish stops everybody.
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
