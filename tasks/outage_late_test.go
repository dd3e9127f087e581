package tasks_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// The workers are down for a while in the middle of timelines that are full.
// What became of every message afterwards is what a plain model of the rules
// says, to the millisecond: so no rule is broken, no order changes, and a
// backlog drains as fast as the rules allow.
func TestBacklogAfterAnOutage(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, row := range []struct {
		why     string
		outage  time.Duration
		reasons []string // why messages are dropped, at least
		devices bool     // each user has two, of two channels
	}{
		{"some hours", 5 * time.Hour, []string{messages.ReasonExpired}, false},
		{"some hours, with devices", 5 * time.Hour, []string{messages.ReasonExpired}, true},
		{"longer than the largest window", 27 * time.Hour, []string{messages.ReasonExpired, messages.ReasonNoFreeTime}, false},
		{"longer than the expiry", 52 * time.Hour, []string{messages.ReasonExpired, messages.ReasonNoFreeTime}, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			tell(t, func(s *story) {
				b := newBacklog(s, 8, 20*time.Hour, row.outage)
				var channels []func(*tasks.WorkerOptions)
				if row.devices {
					channels = append(channels, b.withDevices())
				}
				s.workWhereDue(b.down, channels...)
				before := b.messages()
				s.until(b.up)
				require.Equal(s, before, b.messages(), "nobody worked")
				s.workWhereDue(b.up+10*24*time.Hour, channels...)
				dropped := b.judge(before)
				for _, reason := range row.reasons {
					require.Positive(s, dropped[reason], reason)
				}
				synctest.Wait()
				require.Zero(s, s.queued())
			})
		})
	}
}

// backlog is some users with full timelines, and the outage in their middle.
type backlog struct {
	*story

	ids      map[string][]string // by user
	down, up time.Duration
	phones   *phones // nil for a worker without devices
}

// kept is what is known of a message in the middle of its life or at its end.
type kept struct {
	ID, State, Reason   string
	At, Promised, Ended int64 // Unix ms; zero where absent
	Expires             int64
}

func newBacklog(s *story, users int, down, outage time.Duration) *backlog {
	s.Helper()
	b := &backlog{story: s, ids: make(map[string][]string), down: down, up: down + outage}
	random := rand.New(rand.NewPCG(1, 2))
	days := int(b.up/(24*time.Hour)) + 2
	for n := range users {
		user := fmt.Sprintf("user-%d", n)
		for i := range days * (7 + random.IntN(5)) { // ten a day are allowed
			m := message.Message{
				ID: strconv.Itoa(i), User: user, Title: "a", OnConflict: message.OnConflictShift,
				Category: []string{"", "news", "alerts"}[random.IntN(3)],
				SendAt:   s.at(time.Minute + time.Duration(random.Int64N(int64(b.up+12*time.Hour)))).Truncate(time.Millisecond),
			}
			if random.IntN(3) == 0 {
				m.ExpiresAt = m.SendAt.Add(30*time.Minute + time.Duration(random.Int64N(int64(30*time.Hour)))).Truncate(time.Millisecond)
			}
			if o := s.submit(m); o.Outcome == message.Accepted {
				b.ids[user] = append(b.ids[user], m.ID)
			}
		}
	}
	return b
}

// withDevices gives each user a device of two channels each, and workers the channels.
func (b *backlog) withDevices() func(*tasks.WorkerOptions) {
	b.Helper()
	b.phones = newPhones(b.story)
	for user := range b.ids {
		b.phones.has(user, "f1")
		b.phones.has(user, "a1")
	}
	return b.phones.use
}

// delivered returns when each message was delivered, in Unix ms, by user/id. Each recipient got
// it once, and all at the same time.
func (b *backlog) delivered() map[string]int64 {
	b.Helper()
	recorders := []*notifiertest.Recorder{b.recorder}
	if b.phones != nil {
		recorders = []*notifiertest.Recorder{b.phones.fcm.Recorder, b.phones.apns.Recorder}
	}
	at, recipients := make(map[string]int64), make(map[string][]string)
	for _, r := range recorders {
		for _, d := range r.Deliveries() {
			name := d.Notification.User + "/" + d.Notification.ID
			recipient := recipientOf(d.Notification)
			require.NotContains(b, recipients[name], recipient, "%s twice", recipient)
			if len(recipients[name]) > 0 {
				require.Equal(b, at[name], d.At.UnixMilli(), name)
			}
			recipients[name], at[name] = append(recipients[name], recipient), d.At.UnixMilli()
		}
	}
	for name, all := range recipients {
		require.Len(b, all, len(recorders), name)
	}
	return at
}

// messages reads what is known of each user's messages, by send time.
func (b *backlog) messages() map[string][]kept {
	b.Helper()
	all := make(map[string][]kept)
	for user, ids := range b.ids {
		for _, id := range ids {
			r := b.record(user, id)
			k := kept{
				ID: id, State: r["s"], Reason: r["w"],
				At: number(b, r["t"]), Promised: number(b, r["p"]), Ended: number(b, r["e"]), Expires: number(b, r["x"]),
			}
			k.Promised = cmp.Or(k.Promised, k.At)
			k.Expires = cmp.Or(k.Expires, k.Promised+sendlimit.DefaultExpireAfter.Milliseconds())
			all[user] = append(all[user], k)
		}
		slices.SortFunc(all[user], func(x, y kept) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.ID, y.ID)) })
	}
	return all
}

func number(tb testing.TB, text string) int64 {
	tb.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(tb, err)
	return n
}

// judge holds what became of all messages against the model, and counts those
// dropped by the reason.
func (b *backlog) judge(before map[string][]kept) map[string]int {
	b.Helper()
	delivered := b.delivered()
	dropped, late := make(map[string]int), 0
	for user, after := range b.messages() {
		ended := make(map[string]kept)
		for _, k := range after {
			ended[k.ID] = k
			at, sent := delivered[user+"/"+k.ID]
			require.Equal(b, k.State == "d", sent, "%s: %+v", user, k)
			if sent {
				require.GreaterOrEqual(b, at, k.At, "%s: early: %+v", user, k)
				// What is due when the worker starts waits for it to have started.
				inTime := max(k.At+10, b.at(b.up).UnixMilli()+500)
				require.Less(b, at, inTime, "%s: after its recorded time: %+v", user, k)
			} else {
				require.Equal(b, "x", k.State, "%s: %+v", user, k)
				dropped[k.Reason]++
			}
		}
		late += b.judgeUser(user, before[user], ended)
		require.Empty(b, b.watched(user))
	}
	b.Logf("%d delivered, %d late or lost, dropped: %v", len(delivered), late, dropped)
	require.Greater(b, late, 20)
	return dropped
}

// judgeUser works out one user's schedule after the outage by the model, and
// requires that it is what happened. It returns how many messages were late.
func (b *backlog) judgeUser(user string, before []kept, ended map[string]kept) int {
	b.Helper()
	looked := b.looked(before, ended)
	model, err := sendlimittest.NewModel(policy.Default(), policy.DefaultReach)
	require.NoError(b, err)
	reserve := func(k kept, at, now int64) {
		d := model.Reserve(sendlimit.Request{User: user, ID: k.ID, At: unixMilli(at), Now: unixMilli(now)})
		require.True(b, d.Allowed, "%s: a rule is broken at %d: %+v: %+v", user, at, k, d)
	}
	var late []kept
	for _, k := range before {
		switch {
		case k.State == "" && k.At < looked-sendlimit.DefaultTolerance.Milliseconds():
			late = append(late, k)
		case k.State == "x":
			require.Equal(b, k, ended[k.ID])
		default:
			reserve(k, k.At, b.began.UnixMilli())
			require.Equal(b, k.At, ended[k.ID].At, "%s: not late, and moved: %+v", user, k)
			require.Equal(b, "d", ended[k.ID].State, "%s: not late, and not sent: %+v", user, k)
		}
	}
	from := looked
	for _, k := range late {
		end := ended[k.ID]
		if looked >= k.Expires || end.Reason == messages.ReasonExpired {
			require.Equal(b, messages.ReasonExpired, end.Reason, "%s: %+v", user, end)
			require.GreaterOrEqual(b, end.Ended, k.Expires, "%s: %+v", user, end)
			continue
		}
		free := model.NextFree(sendlimit.NextFreeRequest{User: user, From: unixMilli(from), Count: 1, Now: unixMilli(looked)})
		require.Len(b, free, 1)
		if at := free[0].UnixMilli(); at < k.Expires {
			require.Equal(b, "d", end.State, "%s: free at %s: %+v", user, free[0], end)
			require.Equal(b, free[0], unixMilli(end.At), "%s: the next free time: %+v", user, end)
			require.Equal(b, k.Promised, end.Promised)
			reserve(k, at, looked)
			from = at
			continue
		}
		require.Equal(b, messages.ReasonNoFreeTime, end.Reason, "%s: nothing is free before %s: %+v", user, free[0], end)
	}
	return len(late)
}

// looked is when the user's late messages were judged: that is when the first
// of them went out.
func (b *backlog) looked(before []kept, ended map[string]kept) int64 {
	b.Helper()
	first := b.at(b.up).Add(time.Minute).UnixMilli()
	for _, k := range before {
		end := ended[k.ID]
		switch {
		case k.State != "" || k.At == end.At && end.State == "d": // before, or on time
		case end.State == "d":
			first = min(first, end.At)
		case end.Reason == messages.ReasonNoFreeTime:
			first = min(first, end.Ended)
		}
	}
	require.GreaterOrEqual(b, first, b.at(b.up).UnixMilli())
	return first
}

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// workWhereDue has a worker run while something is due or about to be, until a
// time of the story or until the queue is empty: hours in which a worker would
// find nothing are passed over.
func (s *story) workWhereDue(until time.Duration, options ...func(*tasks.WorkerOptions)) {
	s.Helper()
	const ahead = 2 * time.Second
	for {
		next, ok := s.nextTask()
		if !ok || next-ahead >= until || time.Since(s.began) >= until {
			s.until(until)
			return
		}
		s.until(max(next-ahead, time.Since(s.began)))
		stop := s.work(options...)
		for at := next; ok && at-2*ahead <= time.Since(s.began) && time.Since(s.began) < until; at, ok = s.nextTask() {
			s.until(min(max(at, time.Since(s.began))+ahead, until))
		}
		stop()
	}
}

// nextTask is when the queue is to hand out its next task, in the time of the
// story.
func (s *story) nextTask() (time.Duration, bool) {
	s.Helper()
	const queue = "asynq:{" + keyspace.DefaultPrefix + ":push}:"
	for _, list := range []string{"pending", "active"} { // a worker holds an active task until it is due
		waiting, err := s.client.LLen(s.Context(), queue+list).Result()
		require.NoError(s, err)
		if waiting > 0 {
			return time.Since(s.began), true
		}
	}
	next, found := time.Duration(0), false
	for _, set := range []string{"scheduled", "retry"} {
		first, err := s.client.ZRangeWithScores(s.Context(), queue+set, 0, 0).Result()
		require.NoError(s, err)
		if len(first) == 1 {
			at := time.Unix(int64(first[0].Score), 0).Sub(s.began)
			if !found || at < next {
				next, found = at, true
			}
		}
	}
	return next, found
}

// recipientOf names whom a notification is for: user/id/device, without a device for a target.
func recipientOf(n notifier.Notification) string {
	device := ""
	if n.Device != nil {
		device = n.Device.ID
	}
	return n.User + "/" + n.ID + "/" + device
}
