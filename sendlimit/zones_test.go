package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Days that do not have 24 hours, in both hemispheres, in the policy's zone and
// in the user's. The first and the last millisecond belong to the day, those
// next to them do not.
func TestDaysOfClockChanges(t *testing.T) {
	t.Parallel()
	for _, day := range []struct {
		zone, from, until string
		length            time.Duration
		why               string
	}{
		{"Europe/Berlin", "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 23 * time.Hour, "02:00 becomes 03:00"},
		{"Europe/Berlin", "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z", 25 * time.Hour, "03:00 becomes 02:00"},
		{"America/New_York", "2027-03-14T05:00:00Z", "2027-03-15T04:00:00Z", 23 * time.Hour, "west of Greenwich"},
		{"America/New_York", "2027-11-07T04:00:00Z", "2027-11-08T05:00:00Z", 25 * time.Hour, "west of Greenwich"},
		{"Australia/Sydney", "2027-10-02T14:00:00Z", "2027-10-03T13:00:00Z", 23 * time.Hour, "summer begins in October"},
		{"Australia/Sydney", "2027-04-03T13:00:00Z", "2027-04-04T14:00:00Z", 25 * time.Hour, "and ends in April"},
		{"America/Santiago", "2027-09-05T04:00:00Z", "2027-09-06T03:00:00Z", 23 * time.Hour, "begins at 01:00, as 00:00 is left out"},
		{"America/Santiago", "2027-04-03T03:00:00Z", "2027-04-04T04:00:00Z", 25 * time.Hour, "has 23:00 twice, as 24:00 becomes that"},
		{"Asia/Beirut", "2027-03-27T22:00:00Z", "2027-03-28T21:00:00Z", 23 * time.Hour, "begins at 01:00"},
		{"Asia/Beirut", "2027-10-29T21:00:00Z", "2027-10-30T22:00:00Z", 25 * time.Hour, "has 23:00 twice"},
		{"Australia/Lord_Howe", "2027-10-02T13:30:00Z", "2027-10-03T13:00:00Z", 23*time.Hour + 30*time.Minute, "half an hour is left out"},
		{"Australia/Lord_Howe", "2027-04-03T13:00:00Z", "2027-04-04T13:30:00Z", 24*time.Hour + 30*time.Minute, "half an hour is there twice"},
	} {
		for _, own := range []bool{false, true} {
			name, p := "policy's "+day.zone+" "+day.from, story.PolicyOf(t, "zone:"+day.zone, "2/calendar_day")
			if own {
				name = "user's " + day.zone + " " + day.from
				p.TimeZone, p.UserTimeZone = "Asia/Tokyo", true
			}
			options := sendlimit.Options{Rules: story.RulesBy(t, p)}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				from, until := story.At(day.from), story.At(day.until)
				require.Equal(t, day.length, until.Sub(from), day.why)
				s := story.Tell(t, options)
				if own {
					setSettings(s, policy.UserSettings{TimeZone: day.zone})
				}
				last := until.Add(-time.Millisecond)
				require.True(t, s.Ask(sendlimit.Request{ID: "first", At: from}).Allowed, day.why)
				require.True(t, s.Ask(sendlimit.Request{ID: "last", At: last}).Allowed, day.why)
				for _, between := range []time.Time{from, from.Add(day.length / 2), last} {
					d := s.Ask(sendlimit.Request{ID: "between", At: between})
					require.Equal(t, fault.CodeSendLimit, d.Code, day.why)
					require.Equal(t, []sendlimit.Violation{{
						Rule: p.Rules[0], From: from, Until: until, ConflictsTotal: 2,
						Conflicts: []keyspace.Reservation{{ID: "first", At: from}, {ID: "last", At: last}},
					}}, d.Violations, day.why)
					require.Equal(t, until, d.NextFree, day.why)
					require.Equal(t, from.Add(-time.Millisecond), d.PreviousFree, day.why)
				}
				for id, beside := range map[string]time.Time{"next": until, "before": from.Add(-time.Millisecond)} {
					require.True(t, s.Ask(sendlimit.Request{ID: id, At: beside}).Allowed, day.why)
				}
				u, err := s.Timeline.Usage(t.Context(), sendlimit.UsageRequest{
					User: "alice", At: last, From: from.Add(-time.Hour), To: until.Add(time.Hour),
				})
				require.NoError(t, err)
				require.Equal(t, []sendlimit.RuleUsage{{Rule: p.Rules[0], Used: 2, From: from, Until: until}}, u.Rules)
				require.Equal(t, []calendar.Stretch{
					{From: from.Add(-time.Hour), Until: from}, {From: until, Until: until.Add(time.Hour)},
				}, u.Free, day.why)
			})
		}
	}
}

// Quiet hours follow the local clock through all its changes.
func TestQuietHoursThroughClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why         string
		zone        string
		lines       []string
		at          string
		from, until string // of the stretch; "" where it is not quiet
	}{
		{"a night with 02:00 left out is an hour shorter", "Europe/Berlin", []string{"22:00-08:00"}, "2027-03-28T00:30:00Z", "2027-03-27T21:00:00Z", "2027-03-28T06:00:00Z"},
		{"with 02:00 twice it is longer", "Europe/Berlin", []string{"22:00-08:00"}, "2027-10-31T01:30:00Z", "2027-10-30T20:00:00Z", "2027-10-31T07:00:00Z"},
		{"a quiet hour that is left out", "Europe/Berlin", []string{"02:00-03:00"}, "2027-03-28T01:00:00Z", "", ""},
		{"half of one is left out", "Europe/Berlin", []string{"02:30-03:30"}, "2027-03-28T01:00:00Z", "2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"},
		{"it ends in what is left out", "Europe/Berlin", []string{"01:00-02:30"}, "2027-03-28T00:59:59.999Z", "2027-03-28T00:00:00Z", "2027-03-28T01:00:00Z"},
		{"a quiet half hour, the first time", "Europe/Berlin", []string{"02:00-02:30"}, "2027-10-31T00:29:59.999Z", "2027-10-31T00:00:00Z", "2027-10-31T00:30:00Z"},
		{"not between", "Europe/Berlin", []string{"02:00-02:30"}, "2027-10-31T00:30:00Z", "", ""},
		{"and the second time", "Europe/Berlin", []string{"02:00-02:30"}, "2027-10-31T01:00:00Z", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z"},
		{"over both of an hour", "America/New_York", []string{"01:30-03:00"}, "2027-11-07T05:45:00Z", "2027-11-07T05:30:00Z", "2027-11-07T06:00:00Z"},
		{"and on from the second", "America/New_York", []string{"01:30-03:00"}, "2027-11-07T07:00:00Z", "2027-11-07T06:30:00Z", "2027-11-07T08:00:00Z"},
		{"south of the equator", "Australia/Sydney", []string{"22:00-08:00"}, "2027-10-02T20:00:00Z", "2027-10-02T12:00:00Z", "2027-10-02T21:00:00Z"},
		{"until 08:00 of an hour more", "Australia/Sydney", []string{"22:00-08:00"}, "2027-04-03T20:00:00Z", "2027-04-03T11:00:00Z", "2027-04-03T22:00:00Z"},
		{"a Sunday that begins at 01:00", "America/Santiago", []string{"sun 00:00-02:00"}, "2027-09-05T04:00:00Z", "2027-09-05T04:00:00Z", "2027-09-05T05:00:00Z"},
		{"all of the hour before it is Saturday's", "America/Santiago", []string{"sun 00:00-02:00"}, "2027-09-05T03:59:59.999Z", "", ""},
		{"a night over a midnight that there is not", "America/Santiago", []string{"sat 22:00-00:30"}, "2027-09-05T03:00:00Z", "2027-09-05T02:00:00Z", "2027-09-05T04:00:00Z"},
		{"Saturday's 23:30, the second time", "America/Santiago", []string{"sat 23:30-00:30"}, "2027-04-04T03:40:00Z", "2027-04-04T03:30:00Z", "2027-04-04T04:30:00Z"},
		{"the first time it ends with 24:00", "America/Santiago", []string{"sat 23:30-00:30"}, "2027-04-04T02:45:00Z", "2027-04-04T02:30:00Z", "2027-04-04T03:00:00Z"},
		{"01:45 again after half an hour", "Australia/Lord_Howe", []string{"01:30-02:00"}, "2027-04-03T15:15:00Z", "2027-04-03T14:30:00Z", "2027-04-03T15:30:00Z"},
		{"half an hour left out of the night", "Australia/Lord_Howe", []string{"22:00-08:00"}, "2027-10-02T18:00:00Z", "2027-10-02T11:30:00Z", "2027-10-02T21:00:00Z"},
		{"half past the hour of UTC", "Asia/Kolkata", []string{"22:00-08:00"}, "2027-01-01T16:30:00Z", "2027-01-01T16:30:00Z", "2027-01-02T02:30:00Z"},
		{"a weekend of 49 hours with its nights", "Europe/Berlin", []string{"sat,sun 00:00-24:00", "mon-fri 22:00-06:00"}, "2027-10-31T12:00:00Z", "2027-10-29T20:00:00Z", "2027-10-31T23:00:00Z"},
		{"the week's turn", "Asia/Beirut", []string{"sun 23:00-01:00"}, "2027-01-03T22:00:00Z", "2027-01-03T21:00:00Z", "2027-01-03T23:00:00Z"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			p := story.PolicyOf(t, "10/minute")
			var err error
			p.QuietHours, err = policy.ParseQuietHours(c.lines...)
			require.NoError(t, err)
			s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
			setSettings(s, policy.UserSettings{TimeZone: c.zone}) // quiet hours are the user's, though the policy's zone is UTC
			if c.from == "" {
				require.True(t, s.Reserve("a", c.at).Allowed)
				return
			}
			from, until := story.At(c.from), story.At(c.until)
			for _, when := range []time.Time{story.At(c.at), from, until.Add(-time.Millisecond)} {
				d := s.Ask(sendlimit.Request{ID: "a", At: when})
				require.Equal(t, fault.CodeQuietHours, d.Code)
				require.NotNil(t, d.Quiet)
				require.Equal(t, from, d.Quiet.From)
				require.Equal(t, until, d.Quiet.Until)
				require.Equal(t, c.zone, d.Quiet.TimeZone)
				require.Equal(t, until, d.NextFree)
				require.Equal(t, from.Add(-time.Millisecond), d.PreviousFree)
			}
			require.Equal(t, until, s.Shift("shifted", c.at).At)
			require.True(t, s.Ask(sendlimit.Request{ID: "before", At: from.Add(-time.Millisecond)}).Allowed)
			u, err := s.Timeline.Usage(t.Context(), sendlimit.UsageRequest{
				User: "alice", From: from.Add(-time.Minute), To: until.Add(time.Minute),
			})
			require.NoError(t, err)
			require.Equal(t, []calendar.Stretch{{From: from, Until: until}}, u.Quiet)
			require.Equal(t, []calendar.Stretch{
				{From: from.Add(-time.Minute), Until: from}, {From: until, Until: until.Add(time.Minute)},
			}, u.Free)
		})
	}
}

// setSettings stores settings for alice.
func setSettings(s *story.Alice, own policy.UserSettings) {
	s.Helper()
	store, err := settings.NewUsers(s.Client, s.Options.Prefix)
	require.NoError(s, err)
	require.NoError(s, store.Set(s.Context(), "alice", own))
}

// A table of a zone's offsets covers a few years. Requests after the turn of
// the year use another one.
func TestTheTurnOfTheYear(t *testing.T) {
	t.Parallel()
	s := story.New(t, "zone:Europe/Berlin", "1/calendar_day")
	s.Accepted("2026-12-31T22:59:59.999Z", "2026-12-31T23:00:00Z") // 31 December and 1 January
	s.Refused("2026-12-31T00:00:00Z", "2027-01-01T22:59:59.999Z")
	s.Until("2026-12-31T22:59:59.500Z")
	d := s.Reserve("now", "")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, story.At("2027-01-01T23:00:00Z"), d.NextFree)
}

// Newfoundland put its clocks back a minute after midnight. The clock showed
// the former day again, but the new day had begun.
func TestAMidnightShownTwice(t *testing.T) {
	t.Parallel()
	s := story.New(t, "zone:America/St_Johns", "1/calendar_day")
	s.Now = story.At("2010-11-01T00:00:00Z")
	s.Server.SetTime(s.Now)
	s.Accepted("2010-11-07T02:30:00Z")
	for _, when := range []string{"2010-11-07T02:30:30Z", "2010-11-07T03:00:00Z", "2010-11-08T03:29:59.999Z"} {
		v := s.Reserve("x", when).Violations
		require.Len(t, v, 1, when)
		require.Equal(t, story.At("2010-11-07T02:30:00Z"), v[0].From)
		require.Equal(t, story.At("2010-11-08T03:30:00Z"), v[0].Until)
	}
	s.Accepted("2010-11-07T02:29:59.999Z", "2010-11-08T03:30:00Z")
}
