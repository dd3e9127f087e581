package tasks_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// Workers, provider, store and queue are away, alone and together, for random times around
// the tolerance, a lease and an expiry, under rules with a category and quiet hours. Nothing
// is lost, early or sent twice; the real times break no rule; late messages keep their
// order; what is due away from an outage is on time; what expires is dropped and told.
func TestOutagesOfEveryKind(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			tell(t, func(s *story) { tellOutages(s, rand.New(rand.NewPCG(seed, 3)), nil) })
		})
	}
}

// The same holds of each device where users have some, on several channels that go away alone
// and together.
func TestOutagesOfEveryKindWithDevices(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			tell(t, func(s *story) {
				p := newPhones(s)
				for user, ids := range map[string][]string{"user-0": {"f1", "a1"}, "user-1": {"f1"}, "user-2": {"a1", "a2", "f1"}, "user-3": {"a1"}} {
					for _, id := range ids {
						p.has(user, id)
					}
				}
				tellOutages(s, rand.New(rand.NewPCG(seed, 4)), p)
			})
		})
	}
}

// outages is a story of half an hour in which much is away.
type outages struct {
	*story

	random   *rand.Rand
	accepted map[string]message.Message // by user/id
	away     [][2]time.Duration         // when something was
	// providers are those of the channels: of a worker without devices the one it has.
	providers []*provider
	phones    *phones  // nil for a worker without devices
	unclear   bool     // a provider did not say whether it took some
	unordered bool     // messages waited for a channel, which does not keep them in order
	stop      []func() // workers
}

// provider is what a channel sends to.
type provider struct {
	*notifiertest.Recorder

	answers atomic.Pointer[notifier.Result]
	mu      sync.Mutex
	took    map[string][]time.Time // by user/id/device
}

const (
	outagesLast    = 30 * time.Minute
	outagesTimeout = 3 * time.Second
	outagesLease   = 13 * time.Second
	// outageAftermath is how long an outage is felt: leases end, retries come, and a
	// worker has 5 s of connections that fail.
	outageAftermath = 45 * time.Second
)

// tellOutages tells of a worker with devices if there are phones.
func tellOutages(s *story, random *rand.Rand, p *phones) {
	o := &outages{story: s, random: random, accepted: make(map[string]message.Message), phones: p}
	o.horizon([]time.Duration{30 * time.Second, sendlimit.DefaultHorizon, policy.DefaultReach}[random.IntN(3)])
	rules := o.rules()
	recorders := []*notifiertest.Recorder{s.recorder}
	if p != nil {
		recorders = append(recorders, p.fcm.Recorder, p.apns.Recorder)
	}
	for _, r := range recorders {
		away := &provider{Recorder: r, took: make(map[string][]time.Time)}
		r.AnswerWith(away.answer)
		o.providers = append(o.providers, away)
	}
	o.submitAll()
	o.startWorkers()
	o.until(time.Minute)
	for time.Since(s.began) < outagesLast-3*time.Minute {
		o.outage()
		time.Sleep(o.upTo(4 * time.Minute))
	}
	for o.until(outagesLast); (o.open() || o.queued() > 0) && time.Since(o.began) < 3*time.Hour; {
		time.Sleep(time.Minute)
	}
	synctest.Wait()
	o.judge(rules)
}

func (o *outages) upTo(most time.Duration) time.Duration {
	return time.Duration(o.random.Int64N(int64(most))).Truncate(time.Millisecond)
}

func (o *outages) rules() (applied policy.Policy) {
	o.policy(func(p *policy.Policy) {
		p.Rules = rulesOf(o, "1/20s", "4/3m", "40/calendar_hour")
		p.QuietHours = quiet(o, "00:12-00:15")
		p.Categories = map[string]policy.CategoryRules{"news": {Rules: rulesOf(o, "2/4m")}}
		p.UnknownCategories = policy.AllowUnknown
		applied = *p
	})
	return applied
}

func (o *outages) submitAll() {
	for n := range 40 {
		user := fmt.Sprintf("user-%d", n%5)
		for k := range 3 {
			m := message.Message{
				ID: fmt.Sprintf("m%02d-%d", n, k), User: user, Title: "a", OnConflict: message.OnConflictShift,
				Category: []string{"", "other", "news"}[o.random.IntN(3)],
				SendAt:   o.at(time.Minute + o.upTo(outagesLast-2*time.Minute)),
			}
			if o.random.IntN(3) == 0 {
				m.ExpiresAt = m.SendAt.Add(20*time.Second + o.upTo(4*time.Minute))
			}
			if outcome := o.submit(m); outcome.Outcome == message.Accepted {
				o.accepted[user+"/"+m.ID] = m
			}
		}
	}
}

func (o *outages) startWorkers() {
	for range 2 {
		o.stop = append(o.stop, o.work(func(w *tasks.WorkerOptions) {
			w.PushTimeout, w.SettleMargin, w.RelayEvery = outagesTimeout, outagesLease-outagesTimeout, 10*time.Second
			w.Retries = retry.Policy{Min: time.Second, Max: 10 * time.Second, Attempts: 1000}
			if o.phones != nil {
				o.phones.use(w)
				w.Channels = append(w.Channels, channels.Setup{Name: notifier.ChannelWebhook, Notifier: o.recorder})
			}
		}))
	}
}

// recipientOf names whom a notification is for: user/id/device, without a device for a target.
func recipientOf(n notifier.Notification) string {
	device := ""
	if n.Device != nil {
		device = n.Device.ID
	}
	return n.User + "/" + n.ID + "/" + device
}

// answer is what the provider says now. One that hangs or resets has not got the message.
func (p *provider) answer(ctx context.Context, n notifier.Notification) notifier.Result {
	result := p.answers.Load()
	switch {
	case result == nil:
		name := recipientOf(n)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.took[name] = append(p.took[name], time.Now())
		return notifier.Result{Status: notifier.Delivered}
	case result.Reason == notifier.ReasonTimeout:
		<-ctx.Done()
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: ctx.Err()}
	}
	return *result
}

// outage makes one to three things go away, for times of their own.
func (o *outages) outage() {
	began := time.Since(o.began)
	most := []time.Duration{4 * time.Second, 2 * outagesLease, 3 * time.Minute}[o.random.IntN(3)]
	kinds := []func(lasts time.Duration){o.workersAway, o.providerAway, o.storeAway}
	if began > outagesLast/2 { // what it loses is late from then on
		kinds = append(kinds, o.queueLost)
	}
	o.random.Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
	for _, away := range kinds[:1+o.random.IntN(3)] {
		away(o.upTo(most))
	}
	o.away = append(o.away, [2]time.Duration{began, time.Since(o.began) + outageAftermath})
}

func (o *outages) workersAway(lasts time.Duration) {
	for _, stop := range o.stop {
		stop()
	}
	o.stop = nil
	time.Sleep(lasts)
	o.startWorkers()
	time.Sleep(time.Second) // one that finds no store ends
}

func (o *outages) providerAway(lasts time.Duration) {
	results := []notifier.Result{
		unavailable(),
		{Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: time.Second + o.upTo(15*time.Second)},
		{Status: notifier.Retry, Reason: notifier.ReasonTimeout},
		{Status: notifier.Retry, Reason: notifier.ReasonNetwork, Err: errors.New("connection reset by peer")},
	}
	if o.phones != nil {
		results = append(results, notifier.Result{
			Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: time.Second + o.upTo(15*time.Second), Pause: notifier.PauseChannel,
		})
	}
	result := results[o.random.IntN(len(results))]
	o.unclear = o.unclear || result.Uncertain()
	o.unordered = o.unordered || result.Pause == notifier.PauseChannel
	o.random.Shuffle(len(o.providers), func(i, k int) { o.providers[i], o.providers[k] = o.providers[k], o.providers[i] })
	some := slices.Clone(o.providers[:1+o.random.IntN(len(o.providers))])
	answer := func(result *notifier.Result) {
		for _, p := range some {
			p.answers.Store(result)
		}
	}
	answer(&result)
	time.Sleep(lasts)
	if o.random.IntN(2) == 0 { // another outage begins before this one ends
		time.AfterFunc(o.upTo(20*time.Second), func() { answer(nil) })
		return
	}
	answer(nil)
}

func (o *outages) storeAway(lasts time.Duration) {
	o.network.cut()
	time.Sleep(lasts)
	o.network.mend()
}

// queueLost takes all of the queue's keys, as a hand or an eviction could.
func (o *outages) queueLost(time.Duration) {
	for _, key := range o.server.Keys() {
		if len(key) > 6 && key[:6] == "asynq:" {
			o.server.Del(key)
		}
	}
	// The relay finds each message a minute after its time.
	o.away = append(o.away, [2]time.Duration{time.Since(o.began), 24 * time.Hour})
}

// sent is a message that arrived.
type sentMessage struct {
	message.Message

	arrived  time.Time
	at       time.Time // its place
	promised time.Time
	attempts int
}

func (o *outages) judge(p policy.Policy) {
	o.Helper()
	arrived, tries := o.arrivals()
	sent, counts := make(map[string][]sentMessage), make(map[string]int)
	for name, m := range o.accepted {
		r := o.record(m.User, m.ID)
		counts[r["s"]]++
		at := unixMilli(number(o, r["t"]))
		switch r["s"] {
		case "d":
			promised := unixMilli(cmp.Or(number(o, r["p"]), number(o, r["t"])))
			require.NotZero(o, arrived[name], "%s: %q", name, r)
			sent[m.User] = append(sent[m.User], sentMessage{m, arrived[name], at, promised, int(number(o, r["n"]))})
			o.everybodyGot(m, r)
		case "x":
			require.Contains(o, []string{messages.ReasonExpired, messages.ReasonNoFreeTime}, r["w"], "%s: %q", name, r)
			if r["w"] == messages.ReasonExpired {
				require.False(o, unixMilli(number(o, r["e"])).Before(m.ExpiresAt), "%s: %q", name, r)
			}
		case "u": // it may have arrived, and it has no time any more
			require.True(o, o.unclear && tries[name] > 0, "%s: %q", name, r)
		default:
			require.Fail(o, "lost", "%s: %q", name, r)
		}
	}
	for user, list := range sent {
		o.judgeUser(p, user, list, tries)
		require.Empty(o, o.watched(user))
	}
	o.Log(counts)
	require.Greater(o, counts["d"], len(o.accepted)/2)
	require.Zero(o, o.queued())
}

// arrivals returns when each message first arrived somewhere, and how often it was tried on the
// recipient that took most tries, by user/id.
func (o *outages) arrivals() (first map[string]time.Time, tries map[string]int) {
	o.Helper()
	first, tries = make(map[string]time.Time), make(map[string]int)
	for _, p := range o.providers {
		of := make(map[string]int)
		for _, d := range p.Deliveries() {
			name := d.Notification.User + "/" + d.Notification.ID
			of[recipientOf(d.Notification)]++
			tries[name] = max(tries[name], of[recipientOf(d.Notification)])
		}
		for recipient, times := range p.took {
			require.Len(o, times, 1, "%s: twice", recipient)
			name := recipient[:strings.LastIndexByte(recipient, '/')]
			if at, some := first[name]; !some || times[0].Before(at) {
				first[name] = times[0]
			}
		}
	}
	return first, tries
}

// everybodyGot requires that a message that was delivered reached all of its recipients, if it
// did not expire before.
func (o *outages) everybodyGot(m message.Message, record map[string]string) {
	o.Helper()
	if o.phones == nil {
		return
	}
	got := []string{}
	for _, p := range o.providers {
		for recipient := range p.took {
			if device, of := strings.CutPrefix(recipient, m.User+"/"+m.ID+"/"); of {
				got = append(got, cmp.Or(device, "@webhook"))
			}
		}
	}
	want := []string{"@webhook"}
	for _, d := range o.phones.of(m.User) {
		want = append(want, d.ID)
	}
	if record["w"] != messages.ReasonExpired {
		require.ElementsMatch(o, want, got, "%s/%s: %q", m.User, m.ID, record)
	}
	require.Subset(o, want, got, "%s/%s: %q", m.User, m.ID, record)
	for _, of := range messages.ParseProgress(record["D"]) {
		require.Equal(o, slices.Contains(got, of.Device), of.State == messages.DeviceDelivered, "%s/%s: %q", m.User, m.ID, record)
	}
}

// judgeUser requires of a user's messages what holds of each, and of all together.
func (o *outages) judgeUser(p policy.Policy, user string, sent []sentMessage, tries map[string]int) {
	o.Helper()
	slices.SortFunc(sent, func(a, b sentMessage) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.ID, b.ID)) })
	model, err := sendlimittest.NewModel(p, policy.DefaultReach)
	require.NoError(o, err)
	for _, m := range sent {
		late := m.arrived.Sub(m.at)
		require.GreaterOrEqual(o, late, time.Duration(0), "%s/%s: early", user, m.ID)
		require.LessOrEqual(o, late, sendlimit.DefaultTolerance, "%s/%s: later than its place", user, m.ID)
		d := model.Reserve(sendlimit.Request{User: user, ID: m.ID, Category: m.Category, At: m.at, Now: o.began})
		require.True(o, d.Allowed, "%s/%s at %s breaks a rule: %+v", user, m.ID, m.at, d)
		if !o.isAway(m.promised.Sub(o.began)) {
			require.Equal(o, m.promised, m.at, "%s/%s: nothing was away", user, m.ID)
			require.Equal(o, 1, tries[user+"/"+m.ID], "%s/%s: nothing was away", user, m.ID)
		}
	}
	o.inOrderOf(p, user, sent)
}

// inOrderOf requires that late messages of a class went out in the order of their promised
// times, also those whose tasks the queue lost. One that failed and waited for its retry is
// left out: it holds nothing up. Neither does one that waits for a channel.
func (o *outages) inOrderOf(p policy.Policy, user string, sent []sentMessage) {
	o.Helper()
	last := make(map[string]sentMessage)
	byPromise := slices.SortedFunc(slices.Values(sent), func(a, b sentMessage) int {
		return cmp.Or(a.promised.Compare(b.promised), cmp.Compare(a.ID, b.ID))
	})
	for _, m := range byPromise {
		class := ""
		if _, own := p.Categories[m.Category]; own {
			class = m.Category
		}
		if m.at.Equal(m.promised) || m.attempts > 1 || o.unordered {
			continue
		}
		former := last[class]
		require.False(o, m.at.Before(former.at), "%s: %s, promised for %s, went out at %s, before %s: promised for %s, at %s",
			user, m.ID, m.promised, m.at, former.ID, former.promised, former.at)
		last[class] = m
	}
}

// open reports whether some message has not ended.
func (o *outages) open() bool {
	for n := range 5 {
		if len(o.watched(fmt.Sprintf("user-%d", n))) > 0 {
			return true
		}
	}
	return false
}

func (o *outages) isAway(at time.Duration) bool {
	for _, span := range o.away {
		if at >= span[0]-time.Second && at < span[1] {
			return true
		}
	}
	return false
}
