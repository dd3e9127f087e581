package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A day with a clock change was counted with 24 hours, or in the zone of the
// process. In Berlin 2027-03-28 has 23 hours and 2027-10-31 has 25.
func TestDaysOf23And25Hours(t *testing.T) {
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	time.Local = tokyo // the process's own zone, which must not matter

	for _, day := range []struct {
		zone        string
		from, until string
		hours       float64
	}{
		{"Europe/Berlin", "2027-03-27T23:00:00Z", "2027-03-28T22:00:00Z", 23},
		{"Europe/Berlin", "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z", 25},
		{"Europe/Berlin", "2026-12-31T23:00:00Z", "2027-01-01T23:00:00Z", 24},
		{"Australia/Lord_Howe", "2027-04-03T13:00:00Z", "2027-04-04T13:30:00Z", 24.5}, // half an hour
		{"America/Santiago", "2027-09-05T04:00:00Z", "2027-09-06T03:00:00Z", 23},      // begins at 01:00
		{"America/Santiago", "2027-04-03T03:00:00Z", "2027-04-04T04:00:00Z", 25},      // put back as it strikes midnight
		{"Antarctica/Troll", "2027-10-30T22:00:00Z", "2027-11-01T00:00:00Z", 26},      // two hours
	} {
		t.Run(day.zone+" "+day.from, func(t *testing.T) {
			from, until := story.At(day.from), story.At(day.until)
			require.InDelta(t, day.hours, until.Sub(from).Hours(), 0)
			s := story.New(t, "zone:"+day.zone, "1/calendar_day")
			last := until.Add(-time.Millisecond)
			ask := func(id string, when time.Time) sendlimit.Decision {
				return s.Ask(sendlimit.Request{ID: id, At: when.In(tokyo)})
			}
			require.True(t, ask("first", from).Allowed)
			d := ask("last", last)
			require.False(t, d.Allowed)
			require.Equal(t, from, d.Violations[0].From)
			require.Equal(t, until, d.Violations[0].Until)
			require.Equal(t, until, d.NextFree)
			require.Equal(t, from.Add(-time.Millisecond), d.PreviousFree)
			require.True(t, ask("next", until).Allowed)
			require.True(t, ask("before", from.Add(-time.Millisecond)).Allowed)
		})
	}
}

// A window's counter affected the next window, because it expired in whole
// seconds or began at its first use.
func TestCalendarWindowsAreIndependent(t *testing.T) {
	t.Parallel()
	s := story.New(t, "2/calendar_minute", "1000/calendar_day")
	s.Until("11:11:59.100")
	s.Accepted("11:11:59.400", "11:11:59.999")
	s.Refused("11:11:59.600")
	s.Accepted("11:12:00", "11:12:00.001")
	s.Refused("11:12:59.999")
	s.Accepted("11:13:00")
	s.Until("11:12:00")
	s.Refused("11:12:00", "11:12:30")
	s.Until("11:13:00")
	s.Accepted("11:13:59.999")
	s.Refused("11:13:30")
}

// A week begins on Monday in the policy's zone. A month has its own number of
// days.
func TestWeeksAndMonths(t *testing.T) {
	t.Parallel()
	const berlin, howe = "Europe/Berlin", "Australia/Lord_Howe"
	for _, period := range []struct{ zone, rule, within, from, until string }{
		{berlin, "1/calendar_week", "2027-01-01T12:00:00Z", "2026-12-27T23:00:00Z", "2027-01-03T23:00:00Z"}, // across the year
		{berlin, "1/calendar_week", "2027-03-28T12:00:00Z", "2027-03-21T23:00:00Z", "2027-03-28T22:00:00Z"},
		{berlin, "1/calendar_month", "2027-02-11T12:00:00Z", "2027-01-31T23:00:00Z", "2027-02-28T23:00:00Z"},
		{berlin, "1/calendar_month", "2027-03-31T21:59:59Z", "2027-02-28T23:00:00Z", "2027-03-31T22:00:00Z"},
		{berlin, "1/calendar_hour", "2027-10-31T00:30:00Z", "2027-10-31T00:00:00Z", "2027-10-31T01:00:00Z"}, // 02:30, the first time
		{berlin, "1/calendar_hour", "2027-10-31T01:30:00Z", "2027-10-31T01:00:00Z", "2027-10-31T02:00:00Z"}, // and the second
		{howe, "1/calendar_hour", "2027-04-03T14:10:00Z", "2027-04-03T14:00:00Z", "2027-04-03T15:00:00Z"},
		{howe, "1/calendar_hour", "2027-04-03T15:10:00Z", "2027-04-03T15:00:00Z", "2027-04-03T15:30:00Z"}, // half of it again
		{howe, "1/calendar_hour", "2027-10-02T15:40:00Z", "2027-10-02T15:30:00Z", "2027-10-02T16:00:00Z"}, // the half there is
	} {
		t.Run(period.rule+" "+period.within, func(t *testing.T) {
			t.Parallel()
			s := story.New(t, "zone:"+period.zone, period.rule)
			s.Accepted(period.within)
			v := s.Reserve("x", period.from).Violations
			require.Len(t, v, 1)
			require.Equal(t, story.At(period.from), v[0].From)
			require.Equal(t, story.At(period.until), v[0].Until)
			s.Refused(story.At(period.until).Add(-time.Millisecond).Format(time.RFC3339Nano))
			s.Accepted(period.until, story.At(period.from).Add(-time.Millisecond).Format(time.RFC3339Nano))
		})
	}
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
