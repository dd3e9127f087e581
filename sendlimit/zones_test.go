package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// A day of a clock change was taken for one of 24 hours, or counted in the
// zone of the process. Berlin's 28 March 2027 has 23 hours, its 31 October 25.
func TestPitfall17DaysOf23And25Hours(t *testing.T) {
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
		{"Antarctica/Troll", "2027-10-30T22:00:00Z", "2027-11-01T00:00:00Z", 26},      // two hours
	} {
		t.Run(day.zone+" "+day.from, func(t *testing.T) {
			from, until := at(day.from), at(day.until)
			require.InDelta(t, day.hours, until.Sub(from).Hours(), 0)
			s := newStory(t, "zone:"+day.zone, "1/calendar_day")
			last := until.Add(-time.Millisecond)
			ask := func(id string, when time.Time) sendlimit.Decision {
				return s.ask(sendlimit.Request{ID: id, At: when.In(tokyo)})
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

// A counter of one window bled into the next, by an expiry in whole seconds
// or one begun at the first use.
func TestPitfall19WindowsDoNotBleed(t *testing.T) {
	t.Parallel()
	s := newStory(t, "2/calendar_minute", "1000/calendar_day")
	s.until("11:11:59.100")
	s.accepted("11:11:59.400", "11:11:59.999")
	s.refused("11:11:59.600")
	s.accepted("11:12:00", "11:12:00.001")
	s.refused("11:12:59.999")
	s.accepted("11:13:00")
	s.until("11:12:00")
	s.refused("11:12:00", "11:12:30")
	s.until("11:13:00")
	s.accepted("11:13:59.999")
	s.refused("11:13:30")
}

// A week begins on Monday of the policy's zone, a month has the days it has.
func TestWeeksAndMonths(t *testing.T) {
	t.Parallel()
	for _, period := range []struct{ rule, within, from, until string }{
		{"1/calendar_week", "2027-01-01T12:00:00Z", "2026-12-27T23:00:00Z", "2027-01-03T23:00:00Z"}, // across the year
		{"1/calendar_week", "2027-03-28T12:00:00Z", "2027-03-21T23:00:00Z", "2027-03-28T22:00:00Z"},
		{"1/calendar_month", "2027-02-11T12:00:00Z", "2027-01-31T23:00:00Z", "2027-02-28T23:00:00Z"},
		{"1/calendar_month", "2027-03-31T21:59:59Z", "2027-02-28T23:00:00Z", "2027-03-31T22:00:00Z"},
		{"1/calendar_hour", "2027-10-31T00:30:00Z", "2027-10-31T00:00:00Z", "2027-10-31T01:00:00Z"}, // 02:30, the first time
		{"1/calendar_hour", "2027-10-31T01:30:00Z", "2027-10-31T01:00:00Z", "2027-10-31T02:00:00Z"}, // and the second
	} {
		t.Run(period.rule+" "+period.within, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, "zone:Europe/Berlin", period.rule)
			s.accepted(period.within)
			v := s.reserve("x", period.from).Violations
			require.Len(t, v, 1)
			require.Equal(t, at(period.from), v[0].From)
			require.Equal(t, at(period.until), v[0].Until)
			s.refused(at(period.until).Add(-time.Millisecond).Format(time.RFC3339Nano))
			s.accepted(period.until, at(period.from).Add(-time.Millisecond).Format(time.RFC3339Nano))
		})
	}
}

// The tables of a zone's offsets are made for a few years: a request beyond
// the turn of the year has others than one before.
func TestTheTurnOfTheYear(t *testing.T) {
	t.Parallel()
	s := newStory(t, "zone:Europe/Berlin", "1/calendar_day")
	s.accepted("2026-12-31T22:59:59.999Z", "2026-12-31T23:00:00Z") // 31 December and 1 January
	s.refused("2026-12-31T00:00:00Z", "2027-01-01T22:59:59.999Z")
	s.until("2026-12-31T22:59:59.500Z")
	d := s.reserve("now", "")
	require.Equal(t, sendlimit.CodeSendLimit, d.Code)
	require.Equal(t, at("2027-01-01T23:00:00Z"), d.NextFree)
}
