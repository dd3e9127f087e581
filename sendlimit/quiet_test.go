package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// documented returns options with a policy in JSON's form. The story begins on 22 November
// 2093, a Sunday.
func documented(t *testing.T, d policy.Document) sendlimit.Options {
	t.Helper()
	d.Name = "test"
	p, err := d.Policy()
	require.NoError(t, err)
	return sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}
}

// refusedQuiet submits a message that is refused for a line of quiet times until a time,
// which is also the next free time.
func (u *user) refusedQuiet(id, when, category, line, until string) {
	u.Helper()
	d := u.submit(id, when, category)
	require.Equal(u, fault.CodeQuietHours, d.Code, "%s at %s", id, when)
	require.Equal(u, []string{line, until}, []string{d.Quiet.Hours, d.Quiet.Until.Format(time.DateTime)})
	require.Equal(u, d.Quiet.Until, d.NextFree)
}

// On blackout dates nothing is sent, from midnight to midnight by the user's clocks.
func TestBlackoutDates(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"2/hour"}, TimeZone: "Europe/Berlin", QuietHours: []string{"22:00-08:00"},
		Blackouts: []string{"2093-11-24..2093-11-25", "holidays"}, Calendars: map[string][]string{"holidays": {"12-25..12-26", "12-31..01-01"}},
	}), func(u *user) {
		u.accepted("before", "23 20:59", "")
		u.refusedQuiet("a", "24 10:00", "", "blackout 2093-11-24..2093-11-25", "2093-11-26 07:00:00")
		u.refusedQuiet("b", "23 22:00", "", "22:00-08:00", "2093-11-26 07:00:00")
		u.accepted("after", "26 07:00", "")
		for when, until := range map[string]string{"2026-12-26T12:00:00Z": "2093-12-27 07:00:00", "2026-12-31T12:00:00Z": "2094-01-02 07:00:00"} {
			d, err := u.timeline.Check(u.Context(), sendlimit.Request{User: "alice", ID: "c", At: story.Ahead(when), Now: story.Ahead("00:00"), Record: story.RecordOf("g", "t")})
			require.NoError(u, err)
			require.Equal(u, fault.CodeQuietHours, d.Code, when)
			require.Equal(u, until, d.NextFree.Format(time.DateTime), when)
		}
		u.setSettings(policy.UserSettings{TimeZone: "Asia/Tokyo"}) // whose 24 November begins 8 hours earlier
		u.refusedQuiet("d", "23 15:00", "", "22:00-08:00", "2093-11-25 23:00:00")
	})
}

// A field of a category replaces the policy's.
func TestQuietTimesOfCategories(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"2/hour"}, QuietHours: []string{"22:00-08:00"}, Blackouts: []string{"2093-11-24"},
		Categories: map[string]policy.CategoryDocument{
			"offers":  {Only: []string{"mon-fri 10:00-18:00"}},
			"reports": {QuietHours: []string{}, Rules: []string{"1/day"}},
			"alarms":  {QuietHours: []string{}, Blackouts: []string{}},
			"otp":     {Exempt: true},
		},
		UnknownCategories: "allow",
	}), func(u *user) {
		u.refusedQuiet("a", "23 09:00", "offers", "only mon-fri 10:00-18:00", "2093-11-23 10:00:00")
		u.refusedQuiet("a", "23 18:00", "offers", "only mon-fri 10:00-18:00", "2093-11-25 10:00:00")
		u.refusedQuiet("a", "24 23:00", "offers", "22:00-08:00", "2093-11-25 10:00:00")
		u.accepted("a", "23 10:00", "offers")
		u.accepted("b", "23 23:00", "reports")
		u.refusedQuiet("c", "24 12:00", "reports", "blackout 2093-11-24", "2093-11-25 00:00:00")
		u.accepted("d", "24 02:00", "alarms")
		u.accepted("e", "24 03:00", "otp")
		u.refusedQuiet("f", "23 22:00", "other", "22:00-08:00", "2093-11-25 08:00:00")
		d := u.move("a", "23 18:30", "g2")
		require.Equal(u, fault.CodeQuietHours, d.Code, "the script finds the category")
		require.Equal(u, "only mon-fri 10:00-18:00", d.Quiet.Hours)
		require.True(u, u.move("d", "24 05:00", "g3").Allowed)

		u.setSettings(policy.UserSettings{QuietHours: story.QuietHours(u, "09:00-12:00")})
		u.refusedQuiet("g", "25 09:00", "", "09:00-12:00", "2093-11-25 12:00:00")
		u.refusedQuiet("g", "25 10:30", "alarms", "09:00-12:00", "2093-11-25 12:00:00")
		u.refusedQuiet("g", "25 08:59", "offers", "only mon-fri 10:00-18:00", "2093-11-25 12:00:00")
		u.accepted("g", "25 09:00", "otp")
	})
}

// If a user's quiet hours and later ones of the policy leave no time, nothing is accepted,
// and no search goes on for ever.
func TestQuietHoursThatLeaveNoTimeTogether(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"2/hour"}, Only: []string{"09:00-17:00"}, Categories: map[string]policy.CategoryDocument{"otp": {Exempt: true}},
		UnknownCategories: "allow",
	}), func(u *user) {
		u.setSettings(policy.UserSettings{QuietHours: story.QuietHours(u, "08:00-18:00")})
		d := u.submit("a", "12:00", "")
		require.Equal(u, fault.CodeQuietHours, d.Code)
		require.Zero(u, d.NextFree)
		require.Zero(u, d.PreviousFree)
		u.accepted("b", "12:00", "otp")
		times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{User: "alice", Count: 3, Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.Empty(u, times)
	})
}

// A user's own rules of a category replace the category's or apply beside them; the
// category that the user does not want is refused.
func TestOwnRulesOfCategories(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"5/hour"}, UnknownCategories: "allow",
		Categories: map[string]policy.CategoryDocument{"offers": {Rules: []string{"2/day"}}, "otp": {Exempt: true}},
	}), func(u *user) {
		u.accepted("a", "10:00", "news")
		u.setSettings(policy.UserSettings{
			Categories: map[string][]policy.Rule{"offers": story.LimitsOf(u.T, "1/day"), "news": story.LimitsOf(u.T, "1/2h"), "otp": story.LimitsOf(u.T, "1/day")},
			OptOut:     []string{"ads"},
		})
		d := u.submit("b", "10:30", "news")
		require.Equal(u, []string{"news 1/2h"}, brokenOf(d), "it counts what was accepted before")
		u.accepted("b", "12:00", "news")
		u.accepted("c", "12:10", "offers")
		require.Equal(u, []string{"offers 1/day"}, brokenOf(u.submit("d", "13:00", "offers")))
		u.accepted("e", "12:11", "otp")
		u.accepted("f", "12:12", "otp")
		d = u.submit("g", "14:00", "ads")
		require.Equal(u, sendlimit.Decision{Code: fault.CodeOptedOut, At: story.Ahead("14:00"), Now: story.Ahead("00:00")}, d)
		times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{User: "alice", Category: "ads", Count: 1, Now: story.Ahead("00:00")})
		require.NoError(u, err)
		require.Empty(u, times)
	})
}

// A search that takes several calls continues where it stopped, over many
// nights.
func TestQuietHoursThroughALongSearch(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.QuietHours = story.QuietHours(t, "00:00-23:00")
	s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	calls := &redistest.ScriptCalls{}
	s.Client.AddHook(calls)
	const days = 130 // more places than a call looks at
	places := make([]redis.Z, 0, days*60)
	for minute := range days * 60 {
		when := story.At("23:00").AddDate(0, 0, minute/60).Add(time.Duration(minute%60) * time.Minute)
		places = append(places, redis.Z{Member: strconv.Itoa(minute), Score: float64(when.UnixMilli())})
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), places...).Err())
	made := calls.During(func() {
		d := s.Reserve("a", "23:00")
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, story.At("23:00").AddDate(0, 0, days), d.NextFree)
	})
	require.Greater(t, made, 1)
	made = calls.During(func() {
		d := s.Shift("a", "23:00")
		require.Equal(t, story.At("23:00").AddDate(0, 0, days), d.At)
	})
	require.Greater(t, made, 1)
}
