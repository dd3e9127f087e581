package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

const (
	outagesRoundsEnv = "SENDLIMIT_TEST_OUTAGES"      // how many stories; the default is one
	outagesSeedEnv   = "SENDLIMIT_TEST_OUTAGES_SEED" // the one story to repeat
)

// Workers, the provider, Redis and the queue's keys are away, alone and together, for
// random times around the tolerance, a lease and an expiry. Two workers are processes of
// their own. Nothing is lost, early or sent twice; the times at which messages really
// arrive break no rule and are not in quiet hours; late messages keep their order; what is
// due away from an outage is on time; what expires is dropped, and said to be. Messages come
// from the library and from the program; usage and the workers' metrics count what became
// of them. Stories with an odd seed use a cluster, whose masters are all away at once.
func TestOutagesOfEveryKind(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	if text := os.Getenv(outagesSeedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, outagesSeedEnv)
		playOutages(t, seed)
		return
	}
	rounds := 1
	if text := os.Getenv(outagesRoundsEnv); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err, outagesRoundsEnv)
	}
	first := rand.Uint64N(1 << 30)
	for i := range rounds {
		seed := first + uint64(i)
		// The name shows how to repeat it.
		t.Run(fmt.Sprintf("%s=%d", outagesSeedEnv, seed), func(t *testing.T) {
			t.Parallel()
			playOutages(t, seed)
		})
	}
}

// outages is a story in which much is away.
type outages struct {
	*testing.T
	*submit.Submitter

	servers  []*redistest.Server // one, or the masters of a cluster
	store    crashServer
	programs programs
	environ  []string // of programs
	policy   policy.Policy
	settings map[string]policy.UserSettings
	provider *outagesProvider
	workers  []*outagesWorker
	began    time.Time // at a whole millisecond
	plan     outagesPlan

	mu       sync.Mutex
	away     []awaySpan
	accepted map[messageName]promise
}

// promise is a message that was accepted for a time.
type promise struct {
	message.Message

	at    time.Time
	asked time.Time // when it was submitted
}

func playOutages(t *testing.T, seed uint64) {
	t.Helper()
	built := buildPrograms(t)
	durable := []string{"--appendonly", "yes", "--appendfsync", "always"}
	var servers []*redistest.Server
	var store crashServer
	url := ""
	if seed%2 == 0 {
		server := redistest.Real(t, durable...)
		servers, store, url = []*redistest.Server{server}, crashServerOf(server), server.URL()
	} else {
		cluster := redistest.RealCluster(t, durable...)
		servers, store, url = cluster.Nodes, crashClusterOf(cluster), "redis-cluster://"+strings.Join(cluster.Addrs(), ",")
	}
	client := outagesClient(store.addresses)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	submitter, err := submit.New(taskstest.Open(t, client, outagesBackend(nil)), submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, submitter.Close()) })
	o := &outages{
		T: t, Submitter: submitter, servers: servers, store: store, provider: newOutagesProvider(t),
		programs: built, environ: []string{"REDIS_URL=" + url},
		settings: make(map[string]policy.UserSettings), accepted: make(map[messageName]promise),
	}
	random := rand.New(rand.NewPCG(seed, 1))
	o.rules(client)
	stop := o.work()
	defer stop()
	minute := o.begin()
	o.quietHours(client, minute)
	o.plan = drawOutages(random, minute.Sub(o.began))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d, began at %s\n%s", seed, o.began.UTC(), o.plan)
		}
	})
	endWatch := o.watchMachine()
	var telling sync.WaitGroup
	var file []message.Message
	for number, m := range o.plan.messages {
		submit := o.submit
		if o.plan.byProgram(number) {
			submit = o.push
		}
		switch {
		case m.submit > 0:
			telling.Go(func() {
				o.until(m.submit)
				submit(m.at(o.began))
			})
		case o.plan.byProgram(number):
			file = append(file, m.at(o.began))
		default:
			submit(m.at(o.began))
		}
	}
	o.submitFile(file)
	require.True(t, time.Now().Before(o.began.Add(outagesFirst)), "the machine is too slow for the story")
	for _, a := range o.plan.away {
		telling.Go(func() {
			o.until(a.from)
			o.goAway(a)
		})
	}
	telling.Wait()
	users := o.ended()
	endWatch()
	stop()
	o.judge(users)
}

// rules applies the policy. Its zone's minutes begin with those of UTC.
func (o *outages) rules(client redis.UniversalClient) {
	o.Helper()
	p, err := policy.Parse(policy.DefaultName, "Asia/Kathmandu", "1/3s", "5/16s", "1000/calendar_hour")
	require.NoError(o, err)
	p.Categories = map[string]policy.CategoryRules{"news": {Rules: []policy.Rule{{Limit: 2, Window: 10 * time.Second}}}}
	p.UnknownCategories = policy.AllowUnknown
	policies, err := settings.NewPolicies(client, "")
	require.NoError(o, err)
	require.NoError(o, policies.Apply(o.Context(), p))
	o.policy = p
}

// begin chooses the beginning of the story: a minute begins in the middle of it.
func (o *outages) begin() (minute time.Time) {
	o.Helper()
	const submitting = 3 * time.Second
	earliest := time.Now().Add(submitting)
	minute = earliest.Add(outagesQuietFrom).Truncate(time.Minute).Add(time.Minute)
	o.began = earliest.Truncate(time.Millisecond)
	if latest := minute.Add(-outagesQuietUntil); o.began.Before(latest) {
		o.began = latest
	}
	return minute
}

// quietHours sets quiet hours of users that begin or end with a minute.
func (o *outages) quietHours(client redis.UniversalClient, minute time.Time) {
	o.Helper()
	users, err := settings.NewUsers(client, "")
	require.NoError(o, err)
	zone, err := time.LoadLocation(o.policy.TimeZone)
	require.NoError(o, err)
	for n := range outagesUsers {
		from := minute
		switch {
		case quietEnds(n):
			from = minute.Add(-time.Minute)
		case !quietBegins(n):
			continue
		}
		hours, err := policy.ParseQuietHours(from.In(zone).Format("15:04") + "-" + from.Add(time.Minute).In(zone).Format("15:04"))
		require.NoError(o, err)
		user := fmt.Sprintf("user-%d", n)
		o.settings[user] = policy.UserSettings{QuietHours: hours}
		require.NoError(o, users.Set(o.Context(), user, o.settings[user]))
	}
}

// work starts two workers, and waits until they deliver. The returned function stops them.
func (o *outages) work() (stop func()) {
	o.Helper()
	end := make(chan struct{})
	var keeping sync.WaitGroup
	stop = sync.OnceFunc(func() {
		close(end)
		keeping.Wait()
		for _, w := range o.workers {
			w.goAway(syscall.SIGTERM)
		}
	})
	for range 2 {
		w := &outagesWorker{environ: []string{outagesWorkerEnv + "=" + o.store.addresses + " " + o.provider.URL()}}
		o.workers = append(o.workers, w)
		keeping.Go(func() { w.keep(o.T, end) })
	}
	for _, w := range o.workers {
		require.Eventually(o, w.delivers, 30*time.Second, 10*time.Millisecond)
	}
	return stop
}

func (o *outages) until(after time.Duration) { time.Sleep(time.Until(o.began.Add(after))) }

// submit submits a message until there is an answer.
func (o *outages) submit(m message.Message) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		asked := time.Now()
		ctx, cancel := context.WithTimeout(o.Context(), 2*time.Second)
		answer, err := o.Submit(ctx, m)
		cancel()
		if err == nil {
			if answer.Outcome == message.Accepted {
				o.accept(promise{m, answer.SendAt.Time, asked})
			}
			return
		}
		_, away := errors.AsType[*fault.UnavailableError](err)
		if !away && !errors.Is(err, context.DeadlineExceeded) || time.Now().After(end) {
			o.Errorf("submitting %s/%s: %v", m.User, m.ID, err)
			return
		}
	}
}

// accept notes a message that was accepted for a time.
func (o *outages) accept(p promise) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.accepted[messageName{p.User, p.ID}] = p
}

// ended waits until every message has ended, and returns what the store has of each user.
func (o *outages) ended() map[string]userState {
	o.Helper()
	ids := make(map[string][]string)
	for name := range o.accepted {
		ids[name.user] = append(ids[name.user], name.id)
	}
	store := newCrashStore(o.T, o.store.client, "")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		users := make(map[string]userState)
		var open strings.Builder
		for user, of := range ids {
			users[user] = store.state(o.T, user, of)
			open.WriteString(users[user].unended())
		}
		if open.Len() == 0 {
			return users
		}
		require.True(o, time.Now().Before(end), "not ended:\n%s", &open)
	}
}
