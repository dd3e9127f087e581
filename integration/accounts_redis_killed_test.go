package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

const (
	killedQuota = 60 // messages a day of the account
	killedPace  = 40 // deliveries a second
	killedLanes = 4
	killedSteps = 30 // per lane, each with a charged message for another day and a free one for now
	killedUsers = 10
)

// killedStore is a store that is killed again and again while submitters use up an
// account's day, and a worker sends mails and delivers.
type killedStore struct {
	*testing.T

	server   *redistest.Server
	box      mailbox
	provider *pacedProvider
	answered atomic.Int64 // calls of the submitters that got an answer

	mu      sync.Mutex
	ids     map[string][]string // charged messages, by user
	kills   []struct{ began, done time.Time }
	mails   map[string]time.Time // when the mail server first accepted a notice, by the notice's id
	settled map[string]time.Time // when the worker learned that the settlement was recorded
}

func newKilledStore(t *testing.T) *killedStore {
	t.Helper()
	k := &killedStore{
		T: t, box: startMailbox(t), provider: &pacedProvider{by: make(map[int]int)}, ids: make(map[string][]string),
		server: redistest.Real(t, redistest.Durable()...),
		mails:  make(map[string]time.Time), settled: make(map[string]time.Time),
	}
	client := k.server.Client()
	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	p, err := policy.Parse(policy.DefaultName, "", "10/calendar_day")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), p))
	directory, err := accounts.New(client, "")
	require.NoError(t, err)
	require.NoError(t, directory.SetTier(t.Context(), accounts.Tier{Name: "small", MessagesPerDay: killedQuota}))
	_, err = directory.Create(t.Context(), accounts.Account{Name: "acme", Tier: "small", Contact: "ops@receiver.example"})
	require.NoError(t, err)
	settings, err := settings.NewUsers(client, "")
	require.NoError(t, err)
	for user := range killedUsers {
		require.NoError(t, settings.Set(t.Context(), paidUser(user), policy.UserSettings{Contact: "ada@receiver.example"}))
	}
	paces, err := rate.NewPaces(client, "", deliver.PaceTarget)
	require.NoError(t, err)
	require.NoError(t, paces.Apply(t.Context(), rate.Pace{Rate: perSecond(killedPace), Burst: killedPace / 2}))
	return k
}

func paidUser(n int) string { return fmt.Sprintf("user-%d", n) }

func (k *killedStore) client() *redis.Client {
	k.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: k.server.Addr, PoolSize: 128, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: loadIOTimeout, ReadTimeout: loadIOTimeout, WriteTimeout: loadIOTimeout,
	})
	k.Cleanup(func() { require.NoError(k, client.Close()) })
	return client
}

// work runs a worker until the end of the test. A worker that could not start, because
// the store was down or slow, is started again.
func (k *killedStore) work() {
	k.Helper()
	mails, err := email.Open(email.Options{URL: "smtp://" + k.box.address, From: "alerts@sender.example", Now: time.Now})
	require.NoError(k, err)
	client := k.client()
	for _, script := range lua.All() { // so that every call is known by its hash
		require.NoError(k, script.Load(k.Context(), client).Err())
	}
	client.AddHook(settlementHook{k, lua.NamesByHash()})
	start := func(ctx context.Context) error {
		worker, err := tasks.NewWorker(taskstest.Open(k, client, backend.Options{Horizon: loadHorizon, LookAfter: loadLookAfter, OverdueAfter: loadOverdueAfter}), tasks.WorkerOptions{
			Notifier:     pacedChannel{k.provider, 0},
			Announcer:    mailHook{k, mails},
			SettleMargin: 20 * time.Second,
			RelayEvery:   500 * time.Millisecond,
			SweepEvery:   time.Second,
		})
		if err != nil {
			return err
		}
		return worker.Run(ctx)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(k.Context()))
	ended := make(chan error, 1)
	go func() {
		err := start(ctx)
		for err != nil && ctx.Err() == nil {
			err = start(ctx)
		}
		ended <- err
	}()
	k.Cleanup(func() {
		cancel()
		require.NoError(k, <-ended)
	})
}

// mailHook records when the mail server has accepted a notice.
type mailHook struct {
	*killedStore

	next notifier.Announcer
}

// Announce sends through the inner announcer.
func (h mailHook) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	result := h.next.Announce(ctx, to, n)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, again := h.mails[n.ID]; !again {
		h.mails[n.ID] = time.Now()
	}
	return result
}

// settlementHook records when the worker has settled a notice.
type settlementHook struct {
	*killedStore

	names map[string]string // of scripts, by hash
}

// DialHook does nothing.
func (settlementHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook does nothing: notices are settled one by one.
func (settlementHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook records settlements.
func (h settlementHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && h.names[fmt.Sprint(args[1])] == "notice/settle" && err == nil {
			const id = 3 + 3 + 1 // ARGV[2], behind three keys
			h.mu.Lock()
			defer h.mu.Unlock()
			h.settled[fmt.Sprint(cmd.Args()[id])] = time.Now()
		}
		return err
	}
}

// submit starts submitters. wait waits until they are done.
func (k *killedStore) submit(seed uint64) (wait func()) {
	k.Helper()
	var lanes sync.WaitGroup
	for lane := range killedLanes {
		submitter, err := submit.New(taskstest.Open(k, k.client(), backend.Options{Horizon: loadHorizon, LookAfter: loadLookAfter, OverdueAfter: loadOverdueAfter}), submit.Options{})
		require.NoError(k, err)
		k.Cleanup(func() { require.NoError(k, submitter.Close()) })
		random := rand.New(rand.NewPCG(seed, uint64(lane)))
		lanes.Go(func() {
			for step := range killedSteps {
				k.step(submitter, random, lane, step)
			}
		})
	}
	return lanes.Wait
}

func (k *killedStore) step(s *submit.Submitter, random *rand.Rand, lane, step int) {
	day := noon().Truncate(24 * time.Hour)
	sometime := func() time.Time { return day.Add(time.Duration(random.IntN(24*60)) * time.Minute) }
	paid := message.Message{
		ID: fmt.Sprintf("m-%d-%d", lane, step), User: paidUser(random.IntN(killedUsers)), SendAt: sometime(), Title: "Hi", Account: "acme",
	}
	k.mu.Lock()
	k.ids[paid.User] = append(k.ids[paid.User], paid.ID)
	k.mu.Unlock()
	k.ask(func(ctx context.Context) (message.Outcome, error) { return s.Submit(ctx, paid) })
	switch random.IntN(5) {
	case 0:
		k.ask(func(ctx context.Context) (message.Outcome, error) { return s.Cancel(ctx, paid.User, paid.ID) })
	case 1:
		to := sometime()
		k.ask(func(ctx context.Context) (message.Outcome, error) { return s.Move(ctx, paid.User, paid.ID, to) })
	}
	free := message.Message{ID: "m", User: fmt.Sprintf("now-%d-%d", lane, step), SendAt: time.Now().Add(300 * time.Millisecond), Title: "Hi"}
	k.ask(func(ctx context.Context) (message.Outcome, error) { return s.Submit(ctx, free) })
}

// ask repeats a call until it gets an answer.
func (k *killedStore) ask(call func(context.Context) (message.Outcome, error)) message.Outcome {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		try, cancel := context.WithTimeout(context.WithoutCancel(k.Context()), 2*time.Second)
		o, err := call(try)
		cancel()
		if err == nil {
			k.answered.Add(1)
			return o
		}
		_, away := errors.AsType[*fault.UnavailableError](err)
		if !away && !errors.Is(err, context.DeadlineExceeded) || time.Now().After(end) {
			k.Errorf("no answer: %v", err)
			return o
		}
	}
}

// kill kills the store after this number of answered calls, and starts it again.
func (k *killedStore) kill(answered int64, away time.Duration) {
	k.Helper()
	require.Eventually(k, func() bool { return k.answered.Load() >= answered }, 60*time.Second, time.Millisecond)
	began := time.Now()
	k.server.Kill()
	k.mu.Lock()
	k.kills = append(k.kills, struct{ began, done time.Time }{began, time.Now()})
	k.mu.Unlock()
	time.Sleep(away)
	require.NoError(k, k.server.Restart(k.Context()))
}

// mayMailTwice reports whether the store was killed between the mail server's answer
// and the settlement.
func (k *killedStore) mayMailTwice(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kill := range k.kills {
		if kill.done.After(k.mails[id]) && kill.began.Before(k.settled[id]) {
			return true
		}
	}
	return false
}

// The store is killed several times while submitters use up an account's day and a
// worker sends mails and delivers at a pace. Then the account is charged for what is in
// the timelines. Each threshold was mailed once, or more often if the store was killed
// between the mail server's answer and its settlement. No second had more deliveries
// than the pace allows.
func TestRedisKilledUnderAccounts(t *testing.T) {
	t.Parallel()
	k := newKilledStore(t)
	k.work()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	wait := k.submit(seed)
	// Around the first threshold, at the second, and past it.
	for i, answered := range []int64{60, 100, 130, 200} {
		k.kill(answered, time.Duration(50+150*i)*time.Millisecond)
	}
	wait()
	last, err := submit.New(taskstest.Open(t, k.client(), backend.Options{}), submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, last.Close()) })
	store := newCrashStore(t, k.server.Client(), "")
	k.fill(last, store)
	// If a dequeue got no answer, the queue gives the message back after half a minute.
	// Another test checks that none of them is lost.
	require.Eventually(t, func() bool {
		return len(k.provider.seen()) >= killedLanes*killedSteps/2 && len(store.find(t, "notices")) == 0
	}, 60*time.Second, 20*time.Millisecond, "notices end, and the pace lets messages through")
	requireCharged(t, k.server.Client(), "", k.ids)
	require.LessOrEqual(t, fullest(k.provider.seen(), time.Second), killedPace)
	k.requireMails(store)
}

// fill uses up the rest of the account's day, when no hold is left that will be given
// back.
func (k *killedStore) fill(s *submit.Submitter, store crashStore) {
	k.Helper()
	day := store.keys.Charged("acme", "d", noon().Truncate(24*time.Hour))
	for n := 0; ; n++ {
		require.Eventually(k, func() bool { return len(store.find(k.T, "holds")) == 0 }, 60*time.Second, 5*time.Millisecond, "holds end")
		if used, err := store.client.Get(k.Context(), day).Int(); err == nil && used == killedQuota {
			break
		}
		require.Less(k, n, 2*killedQuota)
		m := message.Message{ID: "m", User: fmt.Sprintf("fill-%d", n), SendAt: noon(), Title: "Hi", Account: "acme"}
		k.ids[m.User] = []string{m.ID}
		k.ask(func(ctx context.Context) (message.Outcome, error) { return s.Submit(ctx, m) })
	}
	o := k.ask(func(ctx context.Context) (message.Outcome, error) {
		return s.Submit(ctx, message.Message{ID: "m", User: "late", SendAt: noon(), Title: "Hi", Account: "acme"})
	})
	require.Equal(k, fault.CodeQuotaExceeded, o.Code)
}

// requireMails requires a mail for each notice, and a notice for every threshold that
// was reached.
func (k *killedStore) requireMails(store crashStore) {
	k.Helper()
	arrived := make(map[string]int)
	for _, l := range k.box.letters(k.T) {
		arrived[messageKey(l.header)]++
	}
	noticeFields, day := store.notices(k.T), noon().Truncate(24*time.Hour)
	for id, notice := range noticeFields {
		most := 1
		if k.mayMailTwice(id) {
			most = 2
		}
		if notice["w"] == "superseded" { // the store was away, and the next threshold came first
			higher := strings.Replace(id, "/80/", "/100/", 1)
			require.NotEqual(k, id, higher)
			require.Equal(k, stateDelivered, noticeFields[higher]["z"], id)
			require.LessOrEqual(k, arrived[mailKey(id)], most, id)
			delete(arrived, mailKey(id))
			continue
		}
		require.Equal(k, stateDelivered, notice["z"], "%s: %q", id, notice)
		require.Positive(k, arrived[mailKey(id)], id)
		require.LessOrEqual(k, arrived[mailKey(id)], most, id)
		delete(arrived, mailKey(id))
	}
	require.Empty(k, arrived, "mails of no notice")
	for _, threshold := range policy.DefaultAlertAt() {
		require.Contains(k, noticeFields, notices.FormatID(notices.AccountQuota, day, threshold, "acme"))
	}
	for user, ids := range k.ids {
		switch used := store.state(k.T, user, ids).perDay()[day]; {
		case used >= 10:
			require.Contains(k, noticeFields, notices.FormatID(notices.UserQuota, day, 100, user))
		case used >= 8:
			require.Contains(k, noticeFields, notices.FormatID(notices.UserQuota, day, 80, user))
		}
	}
	k.Logf("%d notices, %d charged messages asked for", len(noticeFields), killedLanes*killedSteps)
}
