package sendlimit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// forbiddenTimes asks for the forbidden times of a message of a category.
func (u *user) forbiddenTimes(id, category, from, until string) sendlimit.Forbidden {
	u.Helper()
	f, err := u.timeline.Forbidden(u.Context(), sendlimit.ForbiddenRequest{
		User: "alice", Category: category, ID: id, From: story.Ahead(from), To: story.Ahead(until), Now: story.Ahead("00:00"),
	})
	require.NoError(u, err)
	require.Equal(u, story.Ahead("00:00"), f.Now)
	return f
}

// forbidden requires the forbidden times, each as "02 15:04:05.000 02 15:04:05.000 reason".
func (u *user) forbidden(id, category, from, until string, want ...string) {
	u.Helper()
	f := u.forbiddenTimes(id, category, from, until)
	require.False(u, f.Blocked || f.OptedOut)
	require.Equal(u, want, spelledStretches(f))
}

func spelledStretches(f sendlimit.Forbidden) []string {
	var all []string
	for _, s := range f.Stretches {
		text := s.From.Format("02 15:04:05.000") + " " + s.Until.Format("02 15:04:05.000 ")
		switch s.Code {
		case fault.CodeSendLimit:
			text += s.Rule.String()
			if s.Category != "" {
				text += " " + s.Category
			}
		case fault.CodeQuietHours:
			text += s.Quiet
		default:
			text += string(s.Code)
		}
		all = append(all, text)
	}
	return all
}

// A place forbids the times less than a minute away, on both sides: the open interval. A
// place a minute later is free, and what the two forbid is one stretch.
func TestForbiddenTimesOfASlidingRule(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		u.forbidden("", "", "11:00", "12:00")
		u.accepted("a", "11:11:11", "")
		u.forbidden("", "", "11:00", "12:00", "22 11:10:11.001 22 11:12:11.000 1/minute")
		u.accepted("b", "11:12:11", "")
		u.forbidden("", "", "11:00", "12:00", "22 11:10:11.001 22 11:13:11.000 1/minute")
		u.accepted("c", "11:14:11", "")
		u.forbidden("", "", "11:00", "12:00",
			"22 11:10:11.001 22 11:13:11.000 1/minute", "22 11:13:11.001 22 11:15:11.000 1/minute")
		u.forbidden("", "", "11:11", "11:13", "22 11:11:00.000 22 11:13:00.000 1/minute")
		u.forbidden("", "", "11:15:11", "11:16")

		// The own place of a message does not count.
		u.forbidden("b", "", "11:00", "12:00",
			"22 11:10:11.001 22 11:12:11.000 1/minute", "22 11:13:11.001 22 11:15:11.000 1/minute")
		u.forbidden("a", "", "11:00", "11:13", "22 11:11:11.001 22 11:13:00.000 1/minute")
		u.forbidden("nobody", "", "11:15", "12:00", "22 11:15:00.000 22 11:15:11.000 1/minute")
	})
}

// Three places within a window forbid what is in a window with all three. Two forbid nothing,
// however close, and three that are a window apart neither.
func TestForbiddenTimesOfGroups(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "3/hour", "1/1s"), func(u *user) {
		u.accepted("c", "10:40", "")
		u.accepted("a", "10:00", "")
		u.forbidden("", "", "09:00", "09:59")
		u.accepted("b", "10:10", "")
		u.forbidden("", "", "09:00", "12:00", "22 09:40:00.001 22 11:00:00.000 3/hour",
			"22 09:59:59.001 22 10:00:01.000 1/1s", "22 10:09:59.001 22 10:10:01.000 1/1s", "22 10:39:59.001 22 10:40:01.000 1/1s")
		u.accepted("d", "11:00", "")
		u.forbidden("d", "", "09:40", "11:30", "22 09:40:00.001 22 11:00:00.000 3/hour",
			"22 09:59:59.001 22 10:00:01.000 1/1s", "22 10:09:59.001 22 10:10:01.000 1/1s", "22 10:39:59.001 22 10:40:01.000 1/1s")
		u.accepted("e", "11:40", "") // with c and d: two groups of three, b to d and c to e
		u.forbidden("", "", "10:50", "11:50", "22 10:50:00.000 22 11:10:00.000 3/hour",
			"22 10:59:59.001 22 11:00:01.000 1/1s", "22 11:39:59.001 22 11:40:01.000 1/1s")
	})
}

// A calendar day is forbidden whole, also one of 23 or 25 hours, and by the user's clocks.
func TestForbiddenDaysOfClockChanges(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"2/calendar_day", "1/calendar_hour"}, TimeZone: "Europe/Berlin", UserTimeZone: true,
	}), func(u *user) {
		u.accepted("a", "2094-03-28T05:00:00Z", "") // the 28th has 23 hours
		u.forbidden("", "", "2094-03-27T00:00:00Z", "2094-03-30T00:00:00Z", "28 05:00:00.000 28 06:00:00.000 1/calendar_hour")
		u.accepted("b", "2094-03-28T21:59:59Z", "")
		u.forbidden("", "", "2094-03-28T06:00:00Z", "2094-03-29T00:00:00Z",
			"28 06:00:00.000 28 22:00:00.000 2/calendar_day", "28 21:00:00.000 28 22:00:00.000 1/calendar_hour")
		u.forbidden("b", "", "2094-03-27T00:00:00Z", "2094-03-30T00:00:00Z", "28 05:00:00.000 28 06:00:00.000 1/calendar_hour")
		u.forbidden("", "", "2094-03-27T12:00:00Z", "2094-03-28T00:00:00Z", "27 23:00:00.000 28 00:00:00.000 2/calendar_day")
		u.accepted("c", "2094-10-30T22:00:00Z", "") // the 31st has 25 hours
		u.accepted("d", "2094-10-31T00:30:00Z", "") // 02:30, which comes again
		u.forbidden("", "", "2094-10-30T12:00:00Z", "2094-11-01T12:00:00Z",
			"30 22:00:00.000 31 23:00:00.000 2/calendar_day", "30 22:00:00.000 30 23:00:00.000 1/calendar_hour",
			"31 00:00:00.000 31 01:00:00.000 1/calendar_hour")
		u.setSettings(policy.UserSettings{TimeZone: "Asia/Tokyo"})
		u.forbidden("", "", "2094-10-30T12:00:00Z", "2094-11-01T12:00:00Z",
			"30 15:00:00.000 31 15:00:00.000 2/calendar_day", "30 22:00:00.000 30 23:00:00.000 1/calendar_hour",
			"31 00:00:00.000 31 01:00:00.000 1/calendar_hour")
	})
}

// Weeks begin on Monday, and months have their own lengths.
func TestForbiddenWeeksAndMonths(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/calendar_week", "2/calendar_month", "9/calendar_minute"), func(u *user) {
		u.accepted("a", "23 10:00", "") // a Monday
		u.accepted("b", "30 10:00", "")
		u.forbidden("", "", "20 00:00", "2026-12-08T00:00:00Z",
			"20 00:00:00.000 01 00:00:00.000 2/calendar_month", "23 00:00:00.000 07 00:00:00.000 1/calendar_week")
		u.forbidden("a", "", "20 00:00", "2026-12-08T00:00:00Z", "30 00:00:00.000 07 00:00:00.000 1/calendar_week")
	})
}

// Quiet times are there with the words of the policy. Of two that apply at once the first
// counts, as in a refusal.
func TestForbiddenQuietTimes(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"2/hour"}, TimeZone: "Europe/Berlin", QuietHours: []string{"22:00-08:00"}, Blackouts: []string{"12-25", "12-26"},
		Categories: map[string]policy.CategoryDocument{
			"offers": {Only: []string{"mon-fri 10:00-18:00"}},
			"otp":    {Exempt: true},
		},
		UnknownCategories: "allow",
	}), func(u *user) {
		u.forbidden("", "", "2026-12-24T12:00:00Z", "2026-12-27T12:00:00Z",
			"24 21:00:00.000 25 07:00:00.000 22:00-08:00", "25 07:00:00.000 25 21:00:00.000 blackout 12-25",
			"25 21:00:00.000 26 07:00:00.000 22:00-08:00", "26 07:00:00.000 26 21:00:00.000 blackout 12-26",
			"26 21:00:00.000 27 07:00:00.000 22:00-08:00")
		u.forbidden("", "offers", "23 12:00", "24 12:00",
			"23 17:00:00.000 23 21:00:00.000 only mon-fri 10:00-18:00", "23 21:00:00.000 24 07:00:00.000 22:00-08:00",
			"24 07:00:00.000 24 09:00:00.000 only mon-fri 10:00-18:00")
		u.forbidden("", "otp", "23 12:00", "24 12:00")
		u.setSettings(policy.UserSettings{QuietHours: story.QuietHours(u, "21:00-23:00")})
		u.forbidden("", "", "23 12:00", "24 05:00", "23 20:00:00.000 23 21:00:00.000 21:00-23:00", "23 21:00:00.000 24 05:00:00.000 22:00-08:00")
	})
}

// Rules of a category count only its places. Uncounted ones count for nobody, and exempt ones
// have no rules.
func TestForbiddenTimesOfCategories(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"2/hour"}, UnknownCategories: "allow", Categories: map[string]policy.CategoryDocument{
			"offers": {Rules: []string{"1/day"}}, "otp": {Exempt: true}, "codes": {Exempt: true, Counts: new(bool)},
		},
	}), func(u *user) {
		u.accepted("a", "10:00", "offers")
		u.accepted("b", "10:10", "codes")
		u.forbidden("", "", "00:00", "23 00:00")
		u.forbidden("", "offers", "00:00", "24 00:00", "22 00:00:00.000 23 10:00:00.000 1/day offers")
		u.forbidden("a", "offers", "00:00", "24 00:00")
		u.accepted("c", "10:20", "otp")
		u.forbidden("", "news", "00:00", "23 00:00", "22 09:20:00.001 22 11:00:00.000 2/hour")
		u.forbidden("", "offers", "09:00", "12:00", "22 09:00:00.000 22 12:00:00.000 1/day offers", "22 09:20:00.001 22 11:00:00.000 2/hour")
		u.forbidden("", "codes", "00:00", "23 00:00")

		u.setSettings(policy.UserSettings{Limits: story.LimitsOf(u.T, "3/hour"), Categories: map[string][]policy.Rule{"offers": story.LimitsOf(u.T, "1/day", "1/2d")}})
		u.forbidden("", "news", "00:00", "23 00:00")
		u.forbidden("", "offers", "09:00", "25 00:00",
			"22 09:00:00.000 23 10:00:00.000 1/day offers", "22 09:00:00.000 24 10:00:00.000 1/2d offers")
	})
}

// A blocked user, and a category that the user does not want, have no free time. The
// stretches are still there.
func TestForbiddenWithoutFreeTimes(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{Rules: []string{"1/hour"}, Reach: "10d"}), func(u *user) {
		u.accepted("a", "10:00", "")
		f := u.forbiddenTimes("", "ads", "09:00", "10:00")
		require.Equal(u, story.Ahead("00:00").AddDate(0, 0, 10), f.Latest)
		u.setSettings(policy.UserSettings{OptOut: []string{"ads"}})
		f = u.forbiddenTimes("", "ads", "09:00", "10:00")
		require.Equal(u, []bool{false, true}, []bool{f.Blocked, f.OptedOut})
		u.setSettings(policy.UserSettings{Blocked: true})
		f = u.forbiddenTimes("", "", "09:00", "10:00")
		require.Equal(u, []bool{true, false}, []bool{f.Blocked, f.OptedOut})
		require.Equal(u, []string{"22 09:00:00.001 22 10:00:00.000 1/hour"}, spelledStretches(f))
	})
}

// A dated change forbids only at its send times, but counts places of others. What the same
// rule forbids on both sides of a change is one stretch.
func TestForbiddenTimesOfDatedChanges(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"1/hour", "1/4h"}, Changes: []policy.ChangeDocument{
			{From: "2093-11-23", Until: "2093-11-24", Rules: []string{"1/4h", "1/2h"}, QuietHours: []string{"06:00-07:00"}},
		},
	}), func(u *user) {
		u.accepted("a", "22 23:00", "")
		u.forbidden("", "", "22 12:00", "23 12:00", "22 19:00:00.001 23 03:00:00.000 1/4h",
			"22 22:00:00.001 23 00:00:00.000 1/hour", "23 00:00:00.000 23 01:00:00.000 1/2h", "23 06:00:00.000 23 07:00:00.000 06:00-07:00")
	})
}

// A day of UTC with as many places as are allowed is forbidden.
func TestForbiddenFullDays(t *testing.T) {
	t.Parallel()
	o := documented(t, policy.Document{
		Rules: []string{"50/hour"}, UnknownCategories: "allow", Categories: map[string]policy.CategoryDocument{"codes": {Exempt: true, Counts: new(bool)}},
	})
	o.PlacesPerDay = 2
	runOnEachStore(t, o, func(u *user) {
		u.accepted("a", "22 10:00", "")
		u.accepted("b", "22 23:59:59.999", "codes")
		u.accepted("c", "22 10:00", "")
		u.forbidden("", "", "21 12:00", "24 00:00", "22 00:00:00.000 23 00:00:00.000 too_many_places")
		u.forbidden("c", "", "21 12:00", "24 00:00")
		u.forbidden("", "codes", "22 00:00", "24 00:00")
		u.accepted("d", "22 00:00", "codes")
		u.forbidden("", "codes", "21 12:00", "22 12:00", "22 00:00:00.000 22 12:00:00.000 too_many_places")
	})
}

// A timeline without records has places only. It reads them in several calls, those of one
// time too, and starts again if settings change meanwhile.
func TestForbiddenTimesOfManyPlaces(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("00:00"))
	o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1000/hour", "1/minute")), PlacesPerDay: 6000}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	key := story.KeysOf(o).Timeline("alice")
	for i := range 4500 {
		at := story.At("07:00")
		if i < 1000 {
			at = story.At("10:00")
		}
		_, err := server.ZAdd(key, float64(at.UnixMilli()), fmt.Sprint("m", i))
		require.NoError(t, err)
	}
	ask := func(id string) []string {
		f, err := timeline.Forbidden(t.Context(), sendlimit.ForbiddenRequest{User: "alice", ID: id, From: story.At("09:30"), To: story.At("10:30")})
		require.NoError(t, err)
		return spelledStretches(f)
	}
	hour := "22 09:30:00.000 22 10:30:00.000 1000/hour"
	minute := "22 09:59:00.001 22 10:01:00.000 1/minute"
	require.Equal(t, []string{hour, minute}, ask(""))
	require.Equal(t, []string{minute}, ask("m7"))

	users, err := settings.NewUsers(client, o.Prefix)
	require.NoError(t, err)
	calls := redistest.DoAfterCalls(t, client, lua.Times, 2, func() {
		require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Limits: story.LimitsOf(t, "2/minute")}))
	})
	require.Equal(t, []string{hour, "22 09:59:00.001 22 10:01:00.000 2/minute"}, ask(""))
	require.Equal(t, 2+1+3, calls.Calls, "two, one that finds other settings, and all three again")
}

func TestInvalidForbiddenRequests(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{})
	require.NoError(t, err)
	from := story.At("10:00")
	for want, r := range map[string]sendlimit.ForbiddenRequest{
		"user":    {From: from, To: from.Add(1)},
		"id":      {User: "alice", ID: "no id", From: from, To: from.Add(1)},
		"from":    {User: "alice", To: from},
		"until":   {User: "alice", From: from},
		"until ":  {User: "alice", From: from, To: from},
		"until  ": {User: "alice", From: from, To: from.Add(sendlimit.MaxUsageSpan + 1)},
		"from \t": {User: "alice", From: from.AddDate(8000, 0, 0), To: from.AddDate(8000, 0, 1)},
	} {
		_, err := timeline.Forbidden(t.Context(), r)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, want)
		require.Contains(t, want, invalid.Field, "%v", err)
	}
}
