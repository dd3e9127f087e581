package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// load is callers who submit, move and cancel, a provider, and what the callers were
// told, on a store that the test disturbs.
type load struct {
	*testing.T

	server   *redistest.Server
	policy   policy.Policy
	receiver *notifiertest.Receiver

	mu       sync.Mutex
	messages map[messageName]*told
	again    int                 // repeated calls, which had no answer
	replayed int                 // repeated calls that had been done before
	unsure   map[messageName]int // deliveries that the provider has not answered
}

// told is what the caller of a message knows.
type told struct {
	accepted, cancelled bool
	// doubt means that a call without an answer may have been done although the next
	// one was refused.
	doubt bool
	// places has the send time that was acknowledged last, and those requested since
	// that may apply instead; ever has all send times there were.
	places, ever []time.Time
}

// Times of the workers and clients under load. They are short, so that the tests are
// short. The margin is that of the programs: a machine that is busy with other things
// stops a worker for seconds.
const (
	loadPushTimeout  = 500 * time.Millisecond
	loadSettleMargin = 10 * time.Second
	loadHorizon      = 3 * time.Second
	loadLookAfter    = time.Second
	loadOverdueAfter = 2 * time.Second
	loadIOTimeout    = 400 * time.Millisecond
)

func newLoad(t *testing.T, server *redistest.Server, rules ...string) *load {
	t.Helper()
	policy, err := policy.Parse(policy.DefaultName, "", rules...)
	require.NoError(t, err)
	policies, err := settings.NewPolicies(server.Client(), "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy))
	l := &load{
		T: t, server: server, policy: policy, receiver: notifiertest.NewReceiver(time.Now),
		messages: make(map[messageName]*told), unsure: make(map[messageName]int),
	}
	t.Cleanup(l.receiver.Close)
	return l
}

// client connects to the store at an address, which may be that of a way to it. Its
// timeouts are short.
func (l *load) client(address string) *redis.Client {
	l.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: address, PoolSize: 128, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: loadIOTimeout, ReadTimeout: loadIOTimeout, WriteTimeout: loadIOTimeout,
	})
	l.Cleanup(func() { require.NoError(l, client.Close()) })
	return client
}

// awaitRequests waits until the provider has received more than n requests.
func (l *load) awaitRequests(n int) {
	l.Helper()
	require.Eventually(l, func() bool { return len(l.receiver.Requests()) > n }, time.Minute, 50*time.Millisecond)
}

// call starts callers. stop ends them, and waits until each has an answer to everything
// it requested.
func (l *load) call(address string, callers int) (stop func()) {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	var calling sync.WaitGroup
	for n := range callers {
		submitter, err := submit.New(taskstest.Open(l, l.client(address), backend.Options{Horizon: loadHorizon, LookAfter: loadLookAfter, OverdueAfter: loadOverdueAfter}), submit.Options{})
		require.NoError(l, err)
		l.Cleanup(func() { require.NoError(l, submitter.Close()) })
		c := &caller{
			Submitter: submitter, load: l, name: fmt.Sprintf("caller-%d", n),
			random: rand.New(rand.NewPCG(uint64(n), 1)),
		}
		calling.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				c.message(ctx, i)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		calling.Wait()
	})
	l.Cleanup(stop)
	return stop
}

// caller makes one call after the other. It repeats a call without an answer until it
// has one.
type caller struct {
	*submit.Submitter

	load   *load
	name   string
	random *rand.Rand
}

// loadUsers is the number of users. All callers send to all of them.
const loadUsers = 40

// message submits one message, and makes the calls that may follow.
func (c *caller) message(ctx context.Context, n int) {
	pause := func(most time.Duration) { time.Sleep(time.Duration(c.random.Int64N(int64(most)))) }
	soon := func() time.Time {
		in := 100*time.Millisecond + time.Duration(c.random.Int64N(int64(2*time.Second)))
		return time.Now().Add(in).UTC().Truncate(time.Millisecond)
	}
	pause(60 * time.Millisecond)
	name := messageName{fmt.Sprintf("user-%d", c.random.IntN(loadUsers)), fmt.Sprintf("%s-%d", c.name, n)}
	m := message.Message{ID: name.id, User: name.user, SendAt: soon(), Title: name.id}
	if c.random.IntN(2) == 0 {
		m.OnConflict, m.ShiftUntil = message.OnConflictShift, m.SendAt.Add(3*time.Second)
	}
	known := &told{}
	o, doubt := c.ask(ctx, func(ctx context.Context) (message.Outcome, error) { return c.Submit(ctx, m) })
	known.accepted, known.doubt = o.Outcome == message.Accepted, doubt && o.Outcome != message.Accepted
	known.asked(m.SendAt)
	if known.accepted {
		known.stands(o.SendAt.Time)
	}
	c.load.mu.Lock()
	c.load.messages[name] = known
	c.load.mu.Unlock()
	if !known.accepted {
		return
	}
	switch c.random.IntN(6) {
	case 0:
		pause(100 * time.Millisecond)
		at := soon()
		known.asked(at)
		o, doubt := c.ask(ctx, func(ctx context.Context) (message.Outcome, error) { return c.Move(ctx, name.user, name.id, at) })
		switch {
		case o.Outcome == message.Moved:
			known.stands(o.SendAt.Time)
		case !doubt:
			known.places = known.places[:1]
		}
	case 1:
		pause(100 * time.Millisecond)
		o, doubt := c.ask(ctx, func(ctx context.Context) (message.Outcome, error) { return c.Cancel(ctx, name.user, name.id) })
		known.cancelled = o.Outcome == message.Cancelled
		known.doubt = doubt && !known.cancelled
	}
}

// ask repeats a call until it gets an answer. Doubt means that an earlier call had no
// answer, and may still be on its way to the store.
func (c *caller) ask(ctx context.Context, call func(context.Context) (message.Outcome, error)) (o message.Outcome, doubt bool) {
	// It continues when the load stops, and gives up only when the test is lost.
	for end := time.Now().Add(time.Minute); ; doubt = true {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		o, err := call(try)
		cancel()
		if err == nil {
			c.load.mu.Lock()
			defer c.load.mu.Unlock()
			if doubt {
				c.load.again++
			}
			if o.Replayed {
				c.load.replayed++
			}
			return o, doubt
		}
		if _, away := errors.AsType[*fault.UnavailableError](err); !away && !errors.Is(err, context.DeadlineExceeded) {
			c.load.Errorf("an error of another kind: %v", err)
		}
		if time.Now().After(end) {
			c.load.Errorf("no answer for a minute: %v", err)
			return o, true
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (k *told) asked(at time.Time) {
	k.places = append(k.places, at)
	k.ever = append(k.ever, at)
}

func (k *told) stands(at time.Time) {
	k.places = []time.Time{at}
	k.ever = append(k.ever, at)
}
