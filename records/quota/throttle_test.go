package quota_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// throttleStory is a chargeStory with timelines under a policy with a throttle.
type throttleStory struct {
	*chargeStory

	throttle policy.NamedThrottle
	records  *messages.Records
}

func newThrottleStory(t *testing.T, limit int) *throttleStory {
	t.Helper()
	s := &throttleStory{chargeStory: newChargeStory(t)}
	s.throttled(policy.Throttle{Limit: limit, Period: calendar.Minute})
	s.records = story.RecordsIn(t, s.client, "")
	return s
}

// throttled gives the timelines another throttle; zero for none.
func (s *throttleStory) throttled(throttle policy.Throttle) {
	s.Helper()
	p := policy.Default()
	p.Categories = map[string]policy.CategoryRules{
		"ads": {Throttle: throttle, Rules: []policy.Rule{{Limit: 900, Period: calendar.Day}}},
	}
	var err error
	s.timeline, err = sendlimit.NewTimeline(s.client, sendlimit.Options{Records: true, Rules: story.RulesBy(s.T, p)})
	require.NoError(s, err)
	s.throttle = p.ThrottleOf("ads")
}

// ask asks for a hold, with the account or without.
func (s *throttleStory) ask(id string, when time.Time, paid bool) quota.Charge {
	s.Helper()
	r := quota.Request{Throttle: s.throttle, User: id, ID: id, At: when}
	if paid {
		r.Account, r.Tier = s.account, s.tier
	}
	charge, err := s.charges.Hold(s.Context(), r)
	require.NoError(s, err)
	return charge
}

func (s *throttleStory) take(id string, when time.Time, h sendlimit.Hold) {
	s.Helper()
	d, err := s.timeline.Reserve(s.Context(), sendlimit.Request{
		User: id, ID: id, At: when, Hold: &h, Record: &sendlimit.Record{Generation: keyspace.NewToken(), Category: "ads"},
	})
	require.NoError(s, err)
	require.True(s, d.Allowed, "%+v", d)
}

// end settles a hold.
func (s *throttleStory) end(h sendlimit.Hold, made bool) {
	s.Helper()
	_, err := s.charges.Settle(s.Context(), time.Time{}, quota.Settlement{Account: h.Account, Attempt: h.Attempt, Former: h.Former, Made: made})
	require.NoError(s, err)
}

func (s *throttleStory) standing(id string) messages.Info {
	s.Helper()
	found, err := s.records.Look(s.Context(), id, id)
	require.NoError(s, err)
	return found[0]
}

// move moves message a under a hold, which it leaves open.
func (s *throttleStory) move(when time.Time) sendlimit.Hold {
	s.Helper()
	standing := s.standing("a")
	r := quota.Request{Throttle: s.throttle, User: "a", ID: "a", At: when, Info: &standing}
	if standing.Account != "" {
		r.Account, r.Tier = s.account, s.tier
	}
	charge, err := s.charges.Hold(s.Context(), r)
	require.NoError(s, err)
	require.True(s, charge.Allowed, "%+v", charge)
	d, err := s.timeline.Move(s.Context(), sendlimit.MoveRequest{
		User: "a", ID: "a", At: when, Generation: keyspace.NewToken(), Hold: &charge.Hold, From: standing.SendAt,
	})
	require.NoError(s, err)
	require.True(s, d.Allowed, "%+v", d)
	return charge.Hold
}

// requireThrottled requires what throttles are charged, by name and start.
func (s *throttleStory) requireThrottled(want map[string]string) {
	s.Helper()
	found := make(map[string]string)
	for _, key := range s.server.Keys() {
		if _, name, counter := cutThrottle(key); counter {
			value, err := s.server.Get(key)
			require.NoError(s, err)
			found[name] = value
			require.Positive(s, s.server.TTL(key), key)
		}
	}
	require.Equal(s, want, found)
}

// cutThrottle returns the name and the start in the key of a counter, "default~ads~m 12:00".
func cutThrottle(key string) (prefix, name string, ok bool) {
	const partition = len("sl:{p0000}:")
	if len(key) < partition+3 || key[partition:partition+3] != "q:~" {
		return "", "", false
	}
	rest := key[partition+3:]
	end := len(rest) - len("1795305600000")
	ms, err := strconv.ParseInt(rest[end:], 10, 64)
	return key[:partition], rest[:end-len(":h:")] + " " + time.UnixMilli(ms).UTC().Format("15:04"), err == nil
}

func TestAThrottleIsHeldWithItsAccount(t *testing.T) {
	t.Parallel()
	s := newThrottleStory(t, 2)
	noon := story.At("12:00:30")
	first := s.ask("a", noon, true)
	require.True(t, first.Allowed)
	require.Equal(t, story.At("12:01"), first.Hold.Until, "the shorter period")
	require.Equal(t, s.throttle, first.Hold.Throttle)
	second := s.ask("b", noon, false)
	require.True(t, second.Allowed)
	require.Empty(t, second.Hold.Account)
	refused := s.ask("c", noon, true)
	require.Equal(t, fault.CodeThrottled, refused.Code)
	require.Equal(t, []any{int64(2), int64(2), story.At("12:00"), story.At("12:01")},
		[]any{refused.UsedUp.Used, refused.UsedUp.Counter.Limit, refused.UsedUp.From, refused.UsedUp.Until})
	require.Equal(t, int64(1), refused.Day.Used)
	s.requireUsed(1, 1, noon)
	s.requireThrottled(map[string]string{"default~ads~m 12:00": "2"})

	s.take("a", noon, first.Hold)
	s.end(first.Hold, true)
	s.end(second.Hold, false)
	s.requireUsed(1, 1, noon)
	s.requireThrottled(map[string]string{"default~ads~m 12:00": "1"})
	s.end(s.move(noon.Add(time.Minute)), true)
	s.requireUsed(1, 1, noon)
	s.requireThrottled(map[string]string{"default~ads~m 12:01": "1"})

	release, err := s.charges.HoldRelease(t.Context(), s.standing("a"), s.tier, time.Time{})
	require.NoError(t, err)
	d, err := s.timeline.Release(t.Context(), sendlimit.ReleaseRequest{
		User: "a", ID: "a", Hold: &release.Hold, From: story.At("12:01:30"),
	})
	require.NoError(t, err)
	require.True(t, d.Allowed)
	s.end(release.Hold, true)
	s.requireUsed(0, 0, noon)
	s.requireThrottled(map[string]string{})
}

// A hold that nobody settled ends by the record, each in its own partition.
func TestOpenHoldsOfAThrottleAreResolved(t *testing.T) {
	t.Parallel()
	s := newThrottleStory(t, 5)
	noon := story.At("12:00")
	s.take("made", noon, s.ask("made", noon, true).Hold)
	require.True(t, s.ask("lost", noon, true).Allowed)
	s.take("free", noon, s.ask("free", noon, false).Hold)
	s.requireThrottled(map[string]string{"default~ads~m 12:00": "3"})
	s.wait(3 * sendlimit.DefaultLookAfter)
	ends, _ := s.relay()
	require.ElementsMatch(t, []quota.HoldEnd{
		quota.HoldCharged, quota.HoldCharged, quota.HoldGivenBack, quota.HoldGivenBack, quota.HoldCharged,
	}, ends)
	s.requireUsed(1, 1, noon)
	s.requireThrottled(map[string]string{"default~ads~m 12:00": "2"})
}

// Programs die after moves from one throttle to another, and from one to none.
func TestFormerThrottlesAreGivenBackAfterCrashes(t *testing.T) {
	t.Parallel()
	for _, paid := range []bool{false, true} {
		s := newThrottleStory(t, 5)
		s.tier.MessagesPerHour, s.tier.MessagesPerDay = 9, 9
		noon := story.At("12:00")
		s.take("a", noon, s.ask("a", noon, paid).Hold)
		s.throttled(policy.Throttle{Limit: 5, Period: calendar.Hour})
		s.move(noon.Add(time.Minute))
		s.throttled(policy.Throttle{})
		s.move(noon.Add(2 * time.Minute))
		s.move(noon.Add(3 * time.Minute))
		s.throttled(policy.Throttle{Limit: 5, Period: calendar.Minute})
		s.move(noon.Add(4 * time.Minute))
		s.wait(3 * sendlimit.DefaultLookAfter)
		ends, _ := s.relay()
		require.NotContains(t, ends, quota.HoldGivenBack)
		s.requireThrottled(map[string]string{"default~ads~m 12:04": "1"})
		if paid {
			s.requireUsed(1, 1, noon)
		}
	}
}

func TestNextOpenPeriodOfAThrottle(t *testing.T) {
	t.Parallel()
	s := newThrottleStory(t, 1)
	from, until := story.At("12:00:30"), story.At("23:00")
	next := func() time.Time {
		t.Helper()
		open, err := s.charges.NextOpen(t.Context(), quota.Request{Throttle: s.throttle, At: from}, until)
		require.NoError(t, err)
		return open
	}
	require.Equal(t, from, next(), "where it starts")
	for minute := range 300 {
		at := story.At("12:00").Add(time.Duration(minute) * time.Minute)
		require.True(t, s.ask(strconv.Itoa(minute), at, false).Allowed)
		if minute < 3 || minute == 299 {
			require.Equal(t, at.Add(time.Minute), next())
		}
	}
	until = story.At("16:59:59")
	require.Zero(t, next(), "none by then")
	until = story.At("17:00")
	require.Equal(t, until, next())
}

// What a message is charged does not count for its own move, and counts for another one's.
func TestNextOpenPeriodForAMove(t *testing.T) {
	t.Parallel()
	s := newThrottleStory(t, 1)
	from := story.At("12:00:30")
	for id, at := range map[string]time.Time{"a": from, "b": from.Add(time.Minute)} {
		charge := s.ask(id, at, id == "b")
		require.True(t, charge.Allowed)
		s.take(id, at, charge.Hold)
		s.end(charge.Hold, true)
	}
	for id, want := range map[string]time.Time{"a": from, "b": story.At("12:01"), "other": story.At("12:02")} {
		standing := s.standing(id)
		open, err := s.charges.NextOpen(t.Context(), quota.Request{Throttle: s.throttle, At: from, Info: &standing}, story.At("13:00"))
		require.NoError(t, err)
		require.Equal(t, want, open, id)
	}
	a := s.standing("a")
	s.throttled(policy.Throttle{Limit: 1, Period: calendar.Hour})
	charge := s.ask("hourly", from, false)
	require.True(t, charge.Allowed)
	open, err := s.charges.NextOpen(t.Context(), quota.Request{Throttle: s.throttle, At: from, Info: &a}, story.At("15:00"))
	require.NoError(t, err)
	require.Equal(t, story.At("13:00"), open, "it is charged for another throttle")
}
