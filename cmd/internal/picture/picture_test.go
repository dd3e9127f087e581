package picture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return parsed
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := calendar.ParseTimeZone(name)
	require.NoError(t, err)
	return z
}

func draw(t *testing.T, tl picture.Timeline, s picture.Style) []string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, tl.Draw(&text, s))
	return strings.Split(text.String(), "\n")
}

func TestStyleFollowsTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		environ map[string]string
		unicode bool
	}{
		{nil, false},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "C"}, false},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, true},
	} {
		s := picture.StyleFor(&strings.Builder{}, func(name string) string { return row.environ[name] }, time.UTC)
		require.Equal(t, row.unicode, s.Unicode, row.environ)
		require.Equal(t, 80, s.Width, "no terminal")
		require.Equal(t, "x", s.Palette.Red("x"))
	}
}

func TestTimelineOfTenMinuteRows(t *testing.T) {
	t.Parallel()
	got := draw(t, picture.Timeline{
		From: at(t, "2026-11-22T11:05:00Z"), To: at(t, "2026-11-22T11:25:00Z"),
		Now: at(t, "2026-11-22T11:06:00Z"), At: at(t, "2026-11-22T11:12:34Z"),
		Sends: []time.Time{
			at(t, "2026-11-22T11:12:00Z"), at(t, "2026-11-22T11:12:01Z"), at(t, "2026-11-22T11:24:59Z"),
		},
		Free: []calendar.Stretch{
			{From: at(t, "2026-11-22T11:06:00Z"), Until: at(t, "2026-11-22T11:11:00Z")},
			{From: at(t, "2026-11-22T11:13:01Z"), Until: at(t, "2026-11-22T11:24:00Z")},
		},
	}, picture.Style{})
	require.Equal(t, []string{
		"         +0    +1    +2    +3    +4    +5    +6    +7    +8    +9",
		"  2026-11-22",
		"  11:00                                      ------------------------",
		"  11:10  ------######2#####+----------------------------------------- < 11:12:34",
		"  11:20  ------------------------#####o",
		"",
		"  o a send (2 to 9: so many, * more)   - free   + partly free   # taken   blank: past",
		"",
	}, got)
}

func TestTimelineAdaptsToTheWidth(t *testing.T) {
	t.Parallel()
	tl := picture.Timeline{From: at(t, "2026-11-22T00:00:00Z"), To: at(t, "2026-11-23T00:00:00Z")}
	tl.Free = []calendar.Stretch{{From: tl.From, Until: tl.To}}
	for width, columns := range map[int]int{0: 60, 80: 60, 200: 120, 69: 60, 68: 30, 10: 30} {
		got := draw(t, tl, picture.Style{Width: width})
		require.Equal(t, "  05:00  "+strings.Repeat("-", columns), got[7], width)
		require.Len(t, got, 1+1+24+3)
	}
	got := draw(t, tl, picture.Style{Unicode: true})
	require.Equal(t, "  05:00  "+strings.Repeat("─", 60), got[7])
}

// Rows are of the zone's days, which are 23 or 25 hours long now and then.
func TestTimelineOfDays(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	tl := picture.Timeline{
		From: time.Date(2026, 10, 23, 0, 0, 0, 0, berlin), To: time.Date(2026, 10, 28, 0, 0, 0, 0, berlin),
		Sends: []time.Time{time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), time.Date(2026, 10, 25, 23, 59, 0, 0, berlin)},
	}
	require.Equal(t, []string{
		"                  0:00        6:00        12:00       18:00",
		"  Fri 2026-10-23  " + strings.Repeat("#", 48),
		"  Sat 2026-10-24  " + strings.Repeat("#", 48),
		"  Sun 2026-10-25  o" + strings.Repeat("#", 46) + "o",
		"  Mon 2026-10-26  " + strings.Repeat("#", 48),
		"  Tue 2026-10-27  " + strings.Repeat("#", 48),
	}, draw(t, tl, picture.Style{Zone: berlin})[:6])
}

// In Cairo clocks are put forward over midnight.
func TestTimelineOfADayWithoutMidnight(t *testing.T) {
	t.Parallel()
	cairo := zone(t, "Africa/Cairo")
	tl := picture.Timeline{
		From: time.Date(2026, 4, 22, 0, 0, 0, 0, cairo), To: time.Date(2026, 4, 27, 0, 0, 0, 0, cairo),
		Now:   time.Date(2026, 4, 26, 0, 0, 0, 0, cairo),
		Sends: []time.Time{time.Date(2026, 4, 23, 23, 59, 0, 0, cairo), time.Date(2026, 4, 24, 1, 0, 0, 0, cairo)},
	}
	require.Equal(t, []string{
		"  Thu 2026-04-23" + strings.Repeat(" ", 49) + "o",
		"  Fri 2026-04-24  o",
		"  Sat 2026-04-25",
		"  Sun 2026-04-26  " + strings.Repeat("#", 48),
	}, draw(t, tl, picture.Style{Zone: cairo})[1:5])
}

func TestTimelineOfHoursInAnOddZone(t *testing.T) {
	t.Parallel()
	kathmandu := zone(t, "Asia/Kathmandu") // 5:45 ahead
	got := draw(t, picture.Timeline{
		From: at(t, "2026-11-22T18:00:00Z"), To: at(t, "2026-11-22T22:00:00Z"),
		Sends: []time.Time{at(t, "2026-11-22T18:15:00Z")},
	}, picture.Style{Zone: kathmandu})
	require.Equal(t, []string{
		"  2026-11-22",
		"  23:00" + strings.Repeat(" ", 47) + strings.Repeat("#", 15),
		"  2026-11-23",
		"  00:00  o" + strings.Repeat("#", 59),
	}, got[1:5])
}

// Rows of the past without a send would say nothing.
func TestTheEmptyPastIsLeftOut(t *testing.T) {
	t.Parallel()
	tl := picture.Timeline{
		From: at(t, "2026-11-22T00:00:00Z"), To: at(t, "2026-11-22T12:00:00Z"), Now: at(t, "2026-11-22T10:00:00Z"),
	}
	require.True(t, strings.HasPrefix(draw(t, tl, picture.Style{})[2], "  10:00  #"))
	tl.Sends = []time.Time{at(t, "2026-11-22T08:00:00Z")}
	got := draw(t, tl, picture.Style{})
	require.Equal(t, "  08:00  o", got[2])
	require.Equal(t, "  09:00", got[3])
}

func TestManySendsInAColumn(t *testing.T) {
	t.Parallel()
	tl := picture.Timeline{From: at(t, "2026-11-22T00:00:00Z"), To: at(t, "2026-11-22T10:00:00Z")}
	for n := range 13 {
		for range n {
			tl.Sends = append(tl.Sends, tl.From.Add(time.Duration(n)*time.Minute))
		}
	}
	require.Equal(t, "  00:00  #o23456789***"+strings.Repeat("#", 47), draw(t, tl, picture.Style{})[2])
}

func TestUsageBars(t *testing.T) {
	t.Parallel()
	usage := message.Usage{}
	for _, row := range []struct {
		rule string
		used int
	}{{"5/hour", 0}, {"5/2h", 3}, {"1000/day", 1}, {"1000/2d", 999}, {"5/3d", 5}, {"5/week", 7}} {
		rule, err := policy.ParseRule(row.rule)
		require.NoError(t, err)
		usage.Rules = append(usage.Rules, message.RuleUsage{
			Rule: row.rule, Limit: rule.Limit, Used: row.used,
			From: message.Time{Time: at(t, "2026-11-22T11:00:00Z")}, Until: message.Time{Time: at(t, "2026-11-22T12:00:00Z")},
		})
	}
	var text strings.Builder
	require.NoError(t, picture.Usage(&text, picture.Style{Unicode: true}, usage))
	require.Equal(t, `  5/hour    ░░░░░░░░░░░░░░░░░░░░  0/5       2026-11-22 11:00:00 – 12:00:00
  5/2h      ████████████░░░░░░░░  3/5       2026-11-22 11:00:00 – 12:00:00
  1000/day  █░░░░░░░░░░░░░░░░░░░  1/1000    2026-11-22 11:00:00 – 12:00:00
  1000/2d   ███████████████████░  999/1000  2026-11-22 11:00:00 – 12:00:00
  5/3d      ████████████████████  5/5       2026-11-22 11:00:00 – 12:00:00
  5/week    ████████████████████  7/5       2026-11-22 11:00:00 – 12:00:00
`, text.String(), "only a full rule has a full bar, and one in use an empty one no more")
}

func TestRefusalOfARuleOfANewerProgram(t *testing.T) {
	t.Parallel()
	asked := message.Time{Time: at(t, "2026-11-22T11:11:11Z")}
	var text strings.Builder
	require.NoError(t, picture.Refusal(&text, picture.Style{Width: 40}, message.Outcome{
		User: "alice", SendAt: asked, Violations: []message.Violation{{Rule: "3/fortnight", Limit: 3, ConflictsTotal: 3}},
	}, ""))
	require.Equal(t, `refused: alice can't get a message at 2026-11-22 11:11:11 UTC

  ##################X#################
                    ^ 11:11:11 asked
  # taken

  3/fortnight  at most 3:

  free before  none
  next free    none
`, text.String())
}

func TestRefusalOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	require.NoError(t, picture.Refusal(&text, picture.Style{Width: 40}, message.Outcome{
		User: "alice", SendAt: message.Time{Time: at(t, "2026-11-22T23:00:00Z")},
		PreviousFreeAt: message.Time{Time: at(t, "2026-11-21T23:59:59Z")},
		NextFreeAt:     message.Time{Time: at(t, "2026-11-23T00:00:00Z")},
		Violations:     []message.Violation{{Rule: "1/calendar_day", Limit: 1}},
	}, ""))
	require.Contains(t, text.String(), `
  ---############################X#---
    ^ 2026-11-21 23:59:59 free
          2026-11-23 00:00:00 free ^
                  23:00:00 asked ^
`)
}
