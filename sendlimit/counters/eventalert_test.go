package counters_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// alertingEvent allows 10 a day and alerts at 80 % and 100 %.
func alertingEvent() counters.EventLimits {
	return counters.EventLimits{
		Name: "submit", PerMinute: 1000, PerDay: 10, AlertAt: []int{80, 100}, AlertTo: "ops@example.com",
	}
}

func eventCall() counters.Request {
	return counters.Request{Event: "submit", Key: "acme", At: story.At("2050-11-22T11:11:11Z")}
}

// eventNotice is the id of an alert of acme on 22 November.
func eventNotice(threshold int, limit int64) string {
	return eventID("submit", "acme", "2050-11-22T00:00:00Z", threshold, limit)
}

// eventID is the id of an alert of an event for the period that began at since.
func eventID(event, key, since string, threshold int, limit int64) string {
	return fmt.Sprintf("event_limit/%d/%d@%d/%s/%s", story.At(since).UnixMilli(), threshold, limit, event, key)
}

func (c counting) outbox() *notices.Outbox {
	c.Helper()
	outbox, err := notices.New(c.client, notices.Options{})
	require.NoError(c, err)
	return outbox
}

// waiting returns the ids in the outbox, oldest first.
func (c counting) waiting() []string {
	c.Helper()
	due, _, err := c.outbox().Due(c.Context(), story.At("2051-01-01T00:00:00Z"), 1000)
	require.NoError(c, err)
	var ids []string
	for _, notice := range due {
		ids = append(ids, notice.ID)
	}
	return ids
}

func TestAnEventAlertsOnceAtEachThreshold(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	c.set(alertingEvent())
	call := eventCall()
	for n := 1; n <= 10; n++ {
		raised := c.accepted(call).Notices
		switch n {
		case 8:
			require.Equal(t, []string{eventNotice(80, 10)}, raised)
		case 10:
			require.Equal(t, []string{eventNotice(100, 10)}, raised)
		default:
			require.Empty(t, raised, n)
		}
	}
	require.Empty(t, c.refused(call).Notices)
	require.Equal(t, []string{eventNotice(100, 10), eventNotice(80, 10)}, c.waiting())

	claim, err := c.outbox().Claim(t.Context(), eventNotice(80, 10), keyspace.NewToken(), time.Minute, call.At)
	require.NoError(t, err)
	require.Equal(t, notices.Send, claim.Verdict)
	require.Equal(t, "submit/acme", claim.Notice.Subject)
	require.EqualValues(t, 8, claim.Notice.Used)
	require.EqualValues(t, 10, claim.Notice.Limit)
	details, err := claim.Notice.ParseDetails()
	require.NoError(t, err)
	require.Equal(t, notices.Details{Rule: "10/calendar_day", Until: story.At("2050-11-23T00:00:00Z").UnixMilli()}, details)

	// Given back and counted again: no alert is raised twice.
	call.N = 3
	require.NoError(t, c.counters.GiveBack(t.Context(), call))
	require.Empty(t, c.accepted(call).Notices)
	require.NoError(t, c.counters.Reset(t.Context(), call))
	call.N = 10
	require.Empty(t, c.accepted(call).Notices)

	// Another key, and the next day, have alerts of their own.
	call.Key = "globex"
	require.Len(t, c.accepted(call).Notices, 1)
	call.Key, call.At, call.N = "acme", call.At.Add(24*time.Hour), 9
	require.Len(t, c.accepted(call).Notices, 1)
}

func TestAnEventThatJumpsOverThresholdsAlertsOfTheHighest(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	c.set(alertingEvent())
	call := eventCall()
	call.N = 10
	require.Empty(t, c.peeked(call).Notices)
	require.Equal(t, []string{eventNotice(100, 10)}, c.accepted(call).Notices)
	require.NoError(t, c.counters.GiveBack(t.Context(), call))
	call.N = 8
	require.Empty(t, c.accepted(call).Notices, "the lower one is marked, too")
}

func (c counting) peeked(r counters.Request) counters.Decision {
	c.Helper()
	d, err := c.counters.Peek(c.Context(), r)
	require.NoError(c, err)
	return d
}

func TestManyCallersCrossAThresholdOfAnEvent(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	e := alertingEvent()
	e.PerDay = 50
	c.set(e)
	raised := make(chan string, 100)
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			if d, err := c.counters.Count(t.Context(), eventCall()); err == nil {
				for _, id := range d.Notices {
					raised <- id
				}
			}
		})
	}
	callers.Wait()
	close(raised)
	var ids []string
	for id := range raised {
		ids = append(ids, id)
	}
	want := []string{eventNotice(80, 50), eventNotice(100, 50)}
	require.ElementsMatch(t, want, ids)
	require.ElementsMatch(t, want, c.waiting())
}

// The alerts are about the longest period that has a limit.
func TestAnEventAlertsOfItsLongestPeriod(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		event        counters.EventLimits
		n            int64
		since, until string
		rule         string
	}{
		{counters.EventLimits{PerMinute: 10, PerHour: 20}, 10, "", "", ""}, // the minute is full, the hour is not
		{counters.EventLimits{PerMinute: 20, PerHour: 20}, 16, "2050-11-22T11:00:00Z", "2050-11-22T12:00:00Z", "20/calendar_hour"},
		{counters.EventLimits{PerMinute: 20}, 16, "2050-11-22T11:11:00Z", "2050-11-22T11:12:00Z", "20/calendar_minute"},
		{counters.EventLimits{PerHour: 20, PerDay: 20, TimeZone: "Asia/Kolkata"}, 16, "2050-11-21T18:30:00Z", "2050-11-22T18:30:00Z", "20/calendar_day"},
	} {
		c := newCounting(t)
		row.event.Name, row.event.AlertAt, row.event.AlertTo = "submit", []int{80}, "ops@example.com"
		c.set(row.event)
		call := eventCall()
		call.N = row.n
		raised := c.accepted(call).Notices
		if row.rule == "" {
			require.Empty(t, raised)
			continue
		}
		id := eventID("submit", "acme", row.since, 80, 20)
		require.Equal(t, []string{id}, raised)
		claim, err := c.outbox().Claim(t.Context(), id, keyspace.NewToken(), time.Minute, call.At)
		require.NoError(t, err)
		details, err := claim.Notice.ParseDetails()
		require.NoError(t, err)
		require.Equal(t, notices.Details{
			TimeZone: row.event.TimeZone, Rule: row.rule, Until: story.At(row.until).UnixMilli(),
		}, details)
	}
}

// A call beside the event's limits that is refused by another counter is not counted.
func TestARefusedCallRaisesNoAlertOfAnEvent(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	c.set(alertingEvent())
	call := eventCall()
	call.Counters = []counters.Counter{{Name: "tier", Limit: 7, Window: time.Hour}}
	call.N = 7
	require.Empty(t, c.accepted(call).Notices)
	call.N = 1
	require.Empty(t, c.refused(call).Notices)
	call.Counters = nil
	require.Equal(t, []string{eventNotice(80, 10)}, c.accepted(call).Notices)
}

func TestAChangedLimitOfAnEventAlerts(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	e := alertingEvent()
	c.set(e)
	call := eventCall()
	call.N = 7
	require.Empty(t, c.accepted(call).Notices)

	e.PerDay = 5
	c.set(e)
	call.N = 1
	require.Equal(t, []string{eventNotice(100, 5)}, c.refused(call).Notices, "the limit is below what is used")
	require.Empty(t, c.refused(call).Notices)

	e.PerDay = 20
	c.set(e)
	call.N = 8
	require.Empty(t, c.accepted(call).Notices, "15 of 20")
	call.N = 1
	require.Equal(t, []string{eventNotice(80, 20)}, c.accepted(call).Notices, "a higher limit alerts anew")
	require.Empty(t, c.accepted(call).Notices)

	e.PerDay = 18
	c.set(e)
	require.Equal(t, []string{eventNotice(100, 18)}, c.accepted(call).Notices, "18 of 18")

	e.AlertAt, e.AlertTo, e.PerDay = nil, "", 30
	c.set(e)
	call.N = 12
	require.Empty(t, c.accepted(call).Notices, "without alerts")
	e = alertingEvent()
	c.set(e)
	_, err := c.events.Remove(t.Context(), "submit")
	require.NoError(t, err)
	require.Empty(t, c.accepted(call).Notices, "without limits")
}

// An alert that still waits when that of a higher threshold was delivered is dropped.
func TestALowerAlertOfAnEventIsSuperseded(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	c.set(alertingEvent())
	call := eventCall()
	call.N = 8
	lower := c.accepted(call).Notices[0]
	call.N = 2
	higher := c.accepted(call).Notices[0]
	nonce := keyspace.NewToken()
	claim, err := c.outbox().Claim(t.Context(), higher, nonce, time.Minute, call.At)
	require.NoError(t, err)
	require.Equal(t, notices.Send, claim.Verdict)
	held, err := c.outbox().Settle(t.Context(), higher, nonce, notices.Settlement{Outcome: notices.Delivered}, call.At)
	require.NoError(t, err)
	require.True(t, held)
	claim, err = c.outbox().Claim(t.Context(), lower, keyspace.NewToken(), time.Minute, call.At)
	require.NoError(t, err)
	require.Equal(t, notices.Dropped, claim.Verdict)
	require.Equal(t, notices.ReasonSuperseded, claim.Reason)
}

// The notice is in the partition of the event, whatever the key is called.
func TestAlertsOfEventsWithOddNames(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	for _, name := range []string{"submit", "a-b_c", "0"} {
		e := alertingEvent()
		e.Name = name
		c.set(e)
		for _, key := range []string{"a/b", "}:", "{p0001}:x", "ünïcode 漢", ":", "a:day:5", "@10/80", "/", "%", longKey()} {
			call := eventCall()
			call.Event, call.Key, call.N = name, key, 8
			id := eventID(name, key, "2050-11-22T00:00:00Z", 80, 10)
			require.Equal(t, []string{id}, c.accepted(call).Notices, key)
			call.N = 1
			require.Empty(t, c.accepted(call).Notices, key)

			parsed, ok := notices.ParseID(id)
			require.True(t, ok, id)
			event, of, ok := parsed.EventKey()
			require.True(t, ok)
			require.Equal(t, []string{name, key}, []string{event, of})

			nonce := keyspace.NewToken()
			claim, err := c.outbox().Claim(t.Context(), id, nonce, time.Minute, call.At)
			require.NoError(t, err)
			require.Equal(t, notices.Send, claim.Verdict, key)
			require.NoError(t, c.outbox().Confirm(t.Context(), notices.Queued{ID: id, Due: call.At}))
			held, err := c.outbox().Settle(t.Context(), id, nonce, notices.Settlement{Outcome: notices.Failed, Reason: "rejected"}, call.At)
			require.NoError(t, err)
			require.True(t, held)
			dead, ok, err := c.outbox().GetDead(t.Context(), id)
			require.NoError(t, err)
			require.True(t, ok, key)
			require.EqualValues(t, 8, dead.Used)
		}
	}
	all, err := c.outbox().ListDead(t.Context(), notices.Dead{}, 0)
	require.NoError(t, err)
	require.Len(t, all, 30)
	for _, dead := range all {
		require.Equal(t, "rejected", dead.Reason, dead.ID)
	}
}

// longKey is the longest key there may be.
func longKey() string {
	key := make([]byte, keyspace.MaxUser)
	for i := range key {
		key[i] = 'k'
	}
	return string(key)
}

func TestIDsThatAreNoAlertsOfEvents(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"event_limit/1/80/submit/acme",     // without the limit
		"event_limit/1/80@0/submit/acme",   // no limit
		"event_limit/1/80@05/submit/acme",  // not as it is written
		"event_limit/1/101@5/submit/acme",  // no percent
		"event_limit/1/80@5/submit/",       // no key
		"event_limit/1/80@5/submit",        // no key
		"event_limit/1/80@5/Sub/acme",      // no name of an event
		"event_limit/1/80@5//acme",         // no event
		"event_limit/x/80@5/submit/acme",   // no time
		"event_limit/1/80@5/submit/a\nb",   // no key
		"event_limits/1/80@5/submit/acme",  // no kind
		"event_limit/1/80@5@5/submit/acme", // twice
	} {
		_, ok := notices.ParseID(id)
		require.False(t, ok, id)
	}
}

// commandCounter counts the commands of a client.
type commandCounter struct{ sent atomic.Int64 }

func (s *commandCounter) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	s.sent.Add(1)
	return next(ctx, cmd)
}

// A call is one round trip, with alerts and without; without, nothing is stored for them.
func TestAlertsOfEventsTakeNoRoundTrip(t *testing.T) {
	t.Parallel()
	for _, alerts := range []bool{false, true} {
		c := newCounting(t)
		e := alertingEvent()
		if !alerts {
			e.AlertAt, e.AlertTo = nil, ""
		}
		c.set(e)
		require.Empty(t, c.accepted(eventCall()).Notices) // loads the script
		var counter commandCounter
		c.client.AddHook(redistest.Commands(counter.onCommand))
		raised := 0
		for range 9 {
			raised += len(c.accepted(eventCall()).Notices)
		}
		c.refused(eventCall())
		require.EqualValues(t, 10, counter.sent.Load(), alerts)
		keys, err := c.client.Keys(t.Context(), "*}:[an]*").Result() // alert, notices and n
		require.NoError(t, err)
		if alerts {
			require.Equal(t, 2, raised)
			require.Len(t, keys, 4, "one flag, two notices, the outbox")
		} else {
			require.Empty(t, keys)
		}
	}
}

// alertingCall returns a call with a limit of 10 a day and alerts at 80 % and
// 100 %.
func alertingCall(t *testing.T) counters.Request {
	t.Helper()
	return counters.Request{
		Key: "alice", At: story.At("2050-11-22T11:11:11Z"),
		Counters: []counters.Counter{{Name: "burst", Limit: 99, Window: time.Hour}, {Name: "d", Limit: 10, Period: calendar.Day}},
		Alert:    &counters.Alert{Counter: "d", At: []int{80, 100}, Kind: "quota", Details: `{"plan":"free"}`},
	}
}

func quotaNotice(at time.Time, threshold int) string {
	day := at.Truncate(24 * time.Hour).UnixMilli()
	return "quota/" + strconv.FormatInt(day, 10) + "/" + strconv.Itoa(threshold) + "/alice"
}

func TestAnAlertIsRaisedOnce(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := alertingCall(t)
	for n := 1; n <= 10; n++ {
		d := c.accepted(call)
		switch n {
		case 8:
			require.Equal(t, []string{quotaNotice(call.At, 80)}, d.Notices)
		case 10:
			require.Equal(t, []string{quotaNotice(call.At, 100)}, d.Notices)
		default:
			require.Empty(t, d.Notices, n)
		}
	}
	require.Empty(t, c.refused(call).Notices)

	keys := keyspace.KeysUnder("sl")
	fields, err := c.client.HGetAll(t.Context(), keys.Notice("alice", quotaNotice(call.At, 80))).Result()
	require.NoError(t, err)
	require.Equal(t, "quota", fields["k"])
	require.Equal(t, "alice", fields["s"])
	require.Equal(t, "8", fields["u"])
	require.Equal(t, "10", fields["l"])
	require.JSONEq(t, `{"plan":"free"}`, fields["x"])

	// 10, 7, 8 and 10 again: no alert is raised twice.
	call.N = 3
	require.NoError(t, c.counters.GiveBack(t.Context(), call))
	require.Empty(t, c.accepted(call).Notices)

	// The next day has its own alerts.
	call.At, call.N = call.At.Add(24*time.Hour), 9
	require.Equal(t, []string{quotaNotice(call.At, 80)}, c.accepted(call).Notices)
}
