package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestQuietHoursAreSpelledInOneWay(t *testing.T) {
	t.Parallel()
	for written, shown := range map[string]string{
		"22:00-08:00":                     "22:00-08:00",
		"mon-sun 22:00-08:00":             "22:00-08:00",
		"mon,tue,wed,thu-sun 22:00-08:00": "22:00-08:00",
		"22:00-00:00":                     "22:00-24:00", // the same instant
		"22:00-24:00":                     "22:00-24:00",
		"00:00-07:00":                     "00:00-07:00",
		"sat,sun 00:00-24:00":             "sat,sun 00:00-24:00",
		"sun,sat 00:00-24:00":             "sat,sun 00:00-24:00",
		"sat-sun 00:00-24:00":             "sat,sun 00:00-24:00",
		"mon-fri 22:00-07:30":             "mon-fri 22:00-07:30",
		"tue,mon,wed 22:00-07:30":         "mon-wed 22:00-07:30",
		"fri-mon 12:00-12:30":             "fri-mon 12:00-12:30",
		"sun,mon,tue 12:00-12:30":         "sun-tue 12:00-12:30",
		"sun-mon 12:00-12:30":             "mon,sun 12:00-12:30", // two days are no range
		"wed-mon 12:00-12:30":             "wed-mon 12:00-12:30",
		"mon,wed,fri-sun 12:00-12:30":     "fri-mon,wed 12:00-12:30",
		"fri 23:59-23:58":                 "fri 23:59-23:58",
		"mon-mon 01:00-02:00":             "mon 01:00-02:00",
	} {
		h := story.QuietHours(t, written)
		require.Equal(t, []string{shown}, h.Lines(), written)
		require.Equal(t, shown, h.String())
		require.True(t, h.Equal(story.QuietHours(t, shown)))
		require.False(t, h.IsZero())
	}
	two := story.QuietHours(t, "mon-fri 22:00-07:30", "sat-sun 00:00-24:00", "mon-fri 22:00-07:30")
	require.Equal(t, "mon-fri 22:00-07:30 and sat,sun 00:00-24:00", two.String(), "each line once")
}

func TestQuietHoursThatAreRefused(t *testing.T) {
	t.Parallel()
	const hours = "hours such as 22:00-08:00, mon-fri 22:00-07:30 or sat,sun 00:00-24:00"
	const days = "days of mon tue wed thu fri sat sun, such as mon-fri or sat,sun, before the hours"
	const end = "hours that end at another time than they begin: a whole day is 00:00-24:00"
	for written, want := range map[string]string{
		"": hours, "22:00": hours, "22:00-": hours, "-08:00": hours, "22-08": hours, "22:00-8:00": hours,
		"22:60-08:00": hours, "22:00-24:01": hours, "25:00-26:00": hours, "24:00-08:00": hours, // begins the next day
		"22:00-08:00 ": days, "22:00–08:00": hours, "22:00-08:00-09:00": hours, "+2:00-08:00": hours, "sat": hours,
		"sat 22:00": hours, "mon  22:00-08:00": hours, "22.00-08.00": hours,
		"Sat 22:00-08:00": days, "saturday 22:00-08:00": days, "sat, 22:00-08:00": days, ",sat 22:00-08:00": days,
		"sat,sun, 22:00-08:00": days, "mon- 22:00-08:00": days, "mon-tue-wed 22:00-08:00": days, " 22:00-08:00": days,
		"08:00-08:00": end, "mon 00:00-00:00": end,
	} {
		_, err := policy.ParseQuietHours("12:00-13:00", written)
		require.Equal(t, want, story.Invalid(t, err, "quiet_hours", written), written)
	}
	_, err := policy.ParseQuietHours(slices.Repeat([]string{"12:00-13:00"}, policy.MaxHours+1)...)
	require.Equal(t, "quiet_hours has 51 lines: at most 50 are allowed", story.Invalid(t, err, "quiet_hours", ""))
}

// Quiet hours over the whole week would never allow a message.
func TestQuietHoursThatLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{"00:00-24:00"},
		{"22:00-08:00", "08:00-22:00"},
		{"mon-fri 00:00-24:00", "sat-sun 00:00-24:00"},
		{"12:00-11:59", "11:00-12:00"},
		{"mon-sat 08:00-07:00", "06:30-08:30", "sun 08:00-24:00", "mon 00:00-07:00"},
	} {
		_, err := policy.ParseQuietHours(lines...)
		var problem *fault.InvalidError
		require.ErrorAs(t, err, &problem, lines)
		require.Equal(t, "quiet_hours", problem.Field)
		require.Contains(t, problem.Says, "leave no time of the week")
	}
	require.True(t, story.QuietHours(t, "12:00-11:59").Contains(story.At("2027-05-05T11:58:59Z")), "one minute a day is left")
	require.False(t, story.QuietHours(t, "12:00-11:59").Contains(story.At("2027-05-05T11:59:59Z")))
}

// Quiet hours with the same times of the week are equal, however they are
// written.
func TestQuietHoursEqual(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]policy.WeekHours{
		{story.QuietHours(t, "22:00-08:00"), story.QuietHours(t, "22:00-24:00", "00:00-08:00")},
		{story.QuietHours(t, "sun 22:00-08:00"), story.QuietHours(t, "mon 00:00-08:00", "sun 22:00-24:00")},
		{story.QuietHours(t, "mon 08:00-12:00", "mon 12:00-13:00"), story.QuietHours(t, "mon 08:00-13:00")},
		{story.QuietHours(t, "mon-fri 08:00-12:00"), story.QuietHours(t, "wed-fri 08:00-12:00", "mon-wed 08:00-12:00")},
		{story.QuietHours(t), {}},
	} {
		require.True(t, same[0].Equal(same[1]), same)
	}
	require.False(t, story.QuietHours(t, "22:00-08:00").Equal(story.QuietHours(t, "22:00-08:01")))
	require.False(t, story.QuietHours(t, "sat 22:00-08:00").Equal(story.QuietHours(t, "sun 22:00-08:00")))
	require.False(t, story.QuietHours(t).Equal(story.QuietHours(t, "22:00-08:00")))
}

// Hours over midnight belong to the day on which they begin.
func TestQuietHoursContain(t *testing.T) {
	t.Parallel()
	berlin, err := calendar.ParseTimeZone("Europe/Berlin")
	require.NoError(t, err)
	for _, row := range []struct {
		lines string
		local string // of Berlin; 3 May 2027 is a Monday
		quiet bool
	}{
		{"22:00-08:00", "2027-05-03 21:59", false},
		{"22:00-08:00", "2027-05-03 22:00", true},
		{"22:00-08:00", "2027-05-04 07:59", true},
		{"22:00-08:00", "2027-05-04 08:00", false},
		{"fri 22:00-08:00", "2027-05-07 07:00", false}, // Friday morning is Thursday's night
		{"fri 22:00-08:00", "2027-05-08 07:59", true},
		{"sun 22:00-08:00", "2027-05-10 07:59", true}, // over the end of the week
		{"sun 22:00-08:00", "2027-05-10 08:00", false},
		{"sat,sun 00:00-24:00", "2027-05-07 23:59", false},
		{"sat,sun 00:00-24:00", "2027-05-08 00:00", true},
		{"sat,sun 00:00-24:00", "2027-05-09 23:59", true},
		{"sat,sun 00:00-24:00", "2027-05-10 00:00", false},
		{"02:00-03:00", "2027-03-28 03:00", false}, // 02:00 is skipped
		{"", "2027-05-03 22:00", false},
	} {
		var h policy.WeekHours
		if row.lines != "" {
			h = story.QuietHours(t, row.lines)
		}
		local, err := time.ParseInLocation("2006-01-02 15:04", row.local, berlin)
		require.NoError(t, err)
		require.Equal(t, row.quiet, h.Contains(local), "%s at %s", row.lines, row.local)
	}
	for _, instant := range []string{"2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"} { // 02:30, twice
		require.True(t, story.QuietHours(t, "02:00-03:00").Contains(story.At(instant).In(berlin)), instant)
	}
}

func TestQuietHoursInJSON(t *testing.T) {
	t.Parallel()
	for _, h := range []policy.WeekHours{{}, story.QuietHours(t, "22:00-08:00"), story.QuietHours(t, "mon-fri 22:00-07:30", "sat,sun 00:00-24:00")} {
		text, err := json.Marshal(h)
		require.NoError(t, err)
		require.JSONEq(t, `["`+strings.Join(h.Lines(), `","`)+`"]`, strings.ReplaceAll(string(text), "[]", `[""]`))
		var again policy.WeekHours
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, h, again)
	}
	var h policy.WeekHours
	require.ErrorContains(t, json.Unmarshal([]byte(`["soon"]`), &h), `quiet_hours "soon" is not allowed`)
	require.Error(t, json.Unmarshal([]byte(`"22:00-08:00"`), &h))
}

// drawLines draws quiet hours that leave a part of the week.
func drawLines(t *rapid.T) []string {
	names := []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	line := rapid.Custom(func(t *rapid.T) string {
		hours := rapid.SampledFrom([]string{
			"22:00-08:00", "00:00-24:00", "00:00-02:30", "01:00-03:00", "02:00-02:30", "23:30-00:30", "12:00-11:00", "23:00-24:00", "02:59-03:01",
		}).Draw(t, "hours")
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 6, rapid.ID).Draw(t, "days")
		if len(some) == 0 {
			return hours
		}
		return strings.Join(some, ",") + " " + hours
	})
	lines := rapid.SliceOfN(line, 1, 4).Draw(t, "lines")
	if _, err := policy.ParseQuietHours(lines...); err != nil {
		t.Skip("the whole week")
	}
	return lines
}

// The spelling of quiet hours parses to the same quiet hours.
func TestQuietHoursReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := story.QuietHours(t, drawLines(t)...)
		again := story.QuietHours(t, h.Lines()...)
		require.Equal(t, h, again)
		require.Equal(t, h.Lines(), again.Lines())
	})
}

func FuzzParseQuietHours(f *testing.F) {
	for _, seed := range []string{"22:00-08:00", "sat,sun 00:00-24:00", "mon-fri 22:00-07:30", "fri-mon 01:00-02:00", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		h, err := policy.ParseQuietHours(written)
		if err != nil {
			var problem *fault.InvalidError
			require.ErrorAs(t, err, &problem)
			require.Equal(t, "quiet_hours", problem.Field)
			return
		}
		require.True(t, h.Equal(story.QuietHours(t, h.Lines()...)))
	})
}
