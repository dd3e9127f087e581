package policy

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// clockChanges returns days of clock changes, each with what is special about
// it.
func clockChanges() map[string]string {
	return map[string]string{
		"2027-03-28": "Europe/Berlin",       // put forward
		"2027-10-31": "Europe/Berlin",       // put back
		"2027-04-04": "Australia/Lord_Howe", // half an hour, south of the equator
		"2027-10-03": "Australia/Lord_Howe",
		"2027-09-05": "America/Santiago", // begins at 01:00, south of the equator
		"2027-04-03": "America/Santiago", // 23:00 comes twice
		"2027-10-30": "Antarctica/Troll", // two hours
		"2010-11-07": "America/St_Johns", // a minute past midnight
		"2011-12-30": "Pacific/Apia",     // there was none
		"2027-06-01": "Asia/Kathmandu",   // none, three quarters of an hour off
		"2027-06-02": "UTC",
	}
}

// plainLine is a line of quiet hours, parsed in the simplest way.
type plainLine struct {
	days        []time.Weekday
	from, until string
}

func plain(lines []string) []plainLine {
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	list := make([]plainLine, len(lines))
	for i, line := range lines {
		days, hours, named := strings.Cut(line, " ")
		if !named {
			days, hours = strings.Join(names, ","), line
		}
		for day := range strings.SplitSeq(days, ",") {
			list[i].days = append(list[i].days, time.Weekday(slices.Index(names, day)))
		}
		list[i].from, list[i].until, _ = strings.Cut(hours, "-")
	}
	return list
}

// shown reports whether the local clock shows a quiet time at t.
func shown(lines []plainLine, t time.Time) bool {
	clock, today := t.Format("15:04"), t.Weekday()
	yesterday := (today + 6) % 7
	return slices.ContainsFunc(lines, func(l plainLine) bool {
		if l.from < l.until {
			return slices.Contains(l.days, today) && l.from <= clock && clock < l.until
		}
		return slices.Contains(l.days, today) && l.from <= clock || slices.Contains(l.days, yesterday) && clock < l.until
	})
}

// drawnDates draws dates around a day, as text.
func drawnDates(t *rapid.T, middle time.Time) []string {
	date := rapid.Custom(func(t *rapid.T) string {
		from := middle.AddDate(0, 0, rapid.IntRange(-4, 4).Draw(t, "from"))
		until := from.AddDate(0, 0, rapid.IntRange(0, 3).Draw(t, "days"))
		layout := rapid.SampledFrom([]string{time.DateOnly, "01-02"}).Draw(t, "layout")
		if until.Equal(from) {
			return from.Format(layout)
		}
		return from.Format(layout) + ".." + until.Format(layout)
	})
	return rapid.SliceOfN(date, 0, 2).Draw(t, "dates")
}

// onDates reports whether the local calendar shows one of the dates at t.
func onDates(dates []string, t time.Time) bool {
	return slices.ContainsFunc(dates, func(date string) bool {
		first, last, ranged := strings.Cut(date, "..")
		if !ranged {
			last = first
		}
		shown := t.Format(time.DateOnly)
		shown = shown[len(shown)-len(first):]
		if first > last {
			return shown >= first || shown <= last
		}
		return shown >= first && shown <= last
	})
}

// Quiet times follow the local clock, minute by minute, over all clock changes.
func TestQuietTimesAreWhatTheClocksShow(t *testing.T) {
	t.Parallel()
	names := []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	changes := clockChanges()
	days := make([]string, 0, len(changes))
	for date := range changes {
		days = append(days, date)
	}
	slices.Sort(days)
	zones := new(calendar.ZoneTables)
	rapid.Check(t, func(t *rapid.T) {
		date := rapid.SampledFrom(days).Draw(t, "day")
		location, err := zones.Location(changes[date])
		require.NoError(t, err)
		line := rapid.Custom(func(t *rapid.T) string {
			hours := rapid.SampledFrom([]string{
				"22:00-08:00", "00:00-24:00", "00:00-02:30", "01:00-03:00", "02:00-02:30", "23:30-00:30",
				"12:00-11:00", "23:00-24:00", "02:59-03:01", "23:59-00:02", "03:00-02:00", "00:00-01:00",
			}).Draw(t, "hours")
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 6, rapid.ID).Draw(t, "days")
			if len(some) == 0 {
				return hours
			}
			return strings.Join(some, ",") + " " + hours
		})
		lines, own := rapid.SliceOfN(line, 0, 4).Draw(t, "lines"), rapid.SliceOfN(line, 0, 1).Draw(t, "own")
		only := rapid.SliceOfN(line, 0, 2).Draw(t, "only")
		var p Policy
		if p.QuietHours, err = ParseQuietHours(lines...); err != nil {
			t.Skip("the whole week")
		}
		theirs, err := ParseQuietHours(own...)
		if err != nil {
			t.Skip("the whole week")
		}
		p.Only, err = ParseAllowedHours(only...)
		require.NoError(t, err)
		middle, err := time.Parse(time.DateOnly, date)
		require.NoError(t, err)
		dates := drawnDates(t, middle)
		p.Blackouts, err = ParseBlackouts(dates...)
		require.NoError(t, err)
		q := p.Quiet("", theirs)
		if q.Always() {
			t.Skip("the whole week")
		}
		table := q.Table(zones.TableAt(location, middle), middle.Year())

		const span = 10 * calendar.DayLong
		first := middle.Add(-span / 2)
		quiet := make([]bool, span/time.Minute)
		obvious, allowed := plain(append(lines, own...)), plain(only)
		var stretches []calendar.Stretch
		before := false
		for i := range quiet {
			at := first.Add(time.Duration(i) * time.Minute)
			local := at.In(location)
			quiet[i] = shown(obvious, local) || len(only) > 0 && !shown(allowed, local) || onDates(dates, local)
			if table.At(at.UnixMilli()) != quiet[i] {
				t.Fatalf("%v is quiet: %t", local, quiet[i])
			}
			if quiet[i] && !before {
				stretches = append(stretches, calendar.Stretch{From: at})
			}
			if quiet[i] {
				stretches[len(stretches)-1].Until = at.Add(time.Minute)
			}
			before = quiet[i]
		}
		require.Equal(t, stretches, table.Within(first.UnixMilli(), first.Add(span).UnixMilli()))

		minute := rapid.IntRange(0, len(quiet)-1).Draw(t, "minute")
		at := first.Add(time.Duration(minute)*time.Minute + time.Duration(rapid.IntRange(0, 59_999).Draw(t, "ms"))*time.Millisecond)
		from, until, in := table.StretchAt(at.UnixMilli())
		require.Equal(t, quiet[minute], in)
		require.Equal(t, in, table.LineAt(at.UnixMilli()) != "")
		if !in {
			return
		}
		i := slices.IndexFunc(stretches, func(s calendar.Stretch) bool { return s.Until.After(at) })
		if got := time.UnixMilli(from).UTC(); stretches[i].From.After(first) {
			require.Equal(t, stretches[i].From, got)
		} else {
			require.False(t, got.After(first), "it began before what was looked at")
		}
		if got := time.UnixMilli(until).UTC(); stretches[i].Until.Before(first.Add(span)) {
			require.Equal(t, stretches[i].Until, got)
		} else {
			require.False(t, got.Before(first.Add(span)))
		}
	})
}

// A stretch is as long as possible: over midnight, from one line to another,
// and over a clock change.
func TestTheQuietStretchAround(t *testing.T) {
	t.Parallel()
	zones := new(calendar.ZoneTables)
	for _, row := range []struct {
		zone, lines, at, from, until, line string
	}{
		{"UTC", "22:00-08:00", "2027-05-04T07:59:59.999Z", "2027-05-03T22:00:00Z", "2027-05-04T08:00:00Z", "22:00-08:00"},
		{"UTC", "fri 22:00-24:00;sat,sun 00:00-24:00;mon 00:00-06:00", "2027-05-08T12:00:00Z", "2027-05-07T22:00:00Z", "2027-05-10T06:00:00Z", "sat,sun 00:00-24:00"},
		{"Europe/Berlin", "22:00-08:00", "2027-03-28T00:59:00Z", "2027-03-27T21:00:00Z", "2027-03-28T06:00:00Z", "22:00-08:00"}, // of 9 hours
		{"Europe/Berlin", "22:00-08:00", "2027-10-31T01:30:00Z", "2027-10-30T20:00:00Z", "2027-10-31T07:00:00Z", "22:00-08:00"}, // of 11
		{"Europe/Berlin", "02:00-02:30", "2027-10-31T00:10:00Z", "2027-10-31T00:00:00Z", "2027-10-31T00:30:00Z", "02:00-02:30"}, // the first of two
		{"Europe/Berlin", "02:00-02:30", "2027-10-31T01:10:00Z", "2027-10-31T01:00:00Z", "2027-10-31T01:30:00Z", "02:00-02:30"},
		{"Europe/Berlin", "02:00-03:00", "2027-10-31T01:10:00Z", "2027-10-31T00:00:00Z", "2027-10-31T02:00:00Z", "02:00-03:00"}, // both at once
		{"Europe/Berlin", "01:00-02:30", "2027-03-28T00:10:00Z", "2027-03-28T00:00:00Z", "2027-03-28T01:00:00Z", "01:00-02:30"}, // the rest is skipped
		{"America/Santiago", "00:00-01:00", "2027-09-06T03:10:00Z", "2027-09-06T03:00:00Z", "2027-09-06T04:00:00Z", "00:00-01:00"},
	} {
		location, err := zones.Location(row.zone)
		require.NoError(t, err)
		h, err := ParseQuietHours(strings.Split(row.lines, ";")...)
		require.NoError(t, err)
		at, err := time.Parse(time.RFC3339Nano, row.at)
		require.NoError(t, err)
		table := Policy{QuietHours: h}.Quiet("", WeekHours{}).Table(zones.TableAt(location, at), at.Year())
		from, until, in := table.StretchAt(at.UnixMilli())
		require.True(t, in, row)
		require.Equal(t, row.from, time.UnixMilli(from).UTC().Format(time.RFC3339Nano), row)
		require.Equal(t, row.until, time.UnixMilli(until).UTC().Format(time.RFC3339Nano), row)
		require.Equal(t, row.line, table.LineAt(at.UnixMilli()))
	}
	// 00:00 to 01:00 does not exist on this day.
	santiago, err := zones.Location("America/Santiago")
	require.NoError(t, err)
	h, err := ParseQuietHours("00:00-01:00")
	require.NoError(t, err)
	begins := time.Date(2027, 9, 5, 4, 0, 0, 0, time.UTC)
	zone := zones.TableAt(santiago, begins)
	require.Empty(t, Policy{QuietHours: h}.Quiet("", WeekHours{}).Table(zone, 2027).Within(begins.UnixMilli(), begins.Add(23*time.Hour).UnixMilli()))
	require.Empty(t, Quiet{}.Table(zone, 2027).Within(0, begins.UnixMilli()))
}

// The quiet hours for the scripts are merged within one week.
func TestQuietHoursForTheScripts(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	zones := new(calendar.ZoneTables)
	utc := zones.TableAt(time.UTC, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	for lines, hours := range map[string][]int{
		"mon 01:00-02:00":                                 {1, 2},
		"mon 01:00-02:00;mon 02:00-03:00":                 {1, 3},
		"sun 22:00-08:00":                                 {0, 8, 6*24 + 22, 7 * 24},
		"sat,sun 00:00-24:00":                             {5 * 24, 7 * 24},
		"mon 10:00-12:00;mon 01:00-24:00;tue 00:00-01:00": {1, 25},
	} {
		h, err := ParseQuietHours(strings.Split(lines, ";")...)
		require.NoError(t, err)
		words := make([]string, len(hours))
		for i, n := range hours {
			words[i] = strconv.Itoa(n * hour)
		}
		table := Policy{QuietHours: h}.Quiet("", WeekHours{}).Table(utc, 2027)
		require.Equal(t, strings.Join(words, " ")+"|", table.Words(), lines)
	}
	require.Empty(t, Quiet{}.Table(utc, 2027).Words())
	dates, err := ParseBlackouts("2027-01-01", "2027-01-02..2027-01-03")
	require.NoError(t, err)
	require.Equal(t, "|1798761600000 1799020800000", Policy{Blackouts: dates}.Quiet("", WeekHours{}).Table(utc, 2027).Words())
}
