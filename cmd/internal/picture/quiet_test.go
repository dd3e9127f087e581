package picture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func TestTimelineShowsQuietHours(t *testing.T) {
	t.Parallel()
	got := draw(t, picture.Timeline{
		From: at(t, "2026-11-22T07:00:00Z"), To: at(t, "2026-11-22T10:00:00Z"), Now: at(t, "2026-11-22T07:00:00Z"),
		Sends: []time.Time{at(t, "2026-11-22T07:10:00Z"), at(t, "2026-11-22T08:30:00Z")},
		Free: []calendar.Stretch{
			{From: at(t, "2026-11-22T08:00:00Z"), Until: at(t, "2026-11-22T08:29:00Z")},
			{From: at(t, "2026-11-22T08:31:00Z"), Until: at(t, "2026-11-22T09:00:30Z")},
		},
		Quiet: []calendar.Stretch{
			{From: at(t, "2026-11-22T06:00:00Z"), Until: at(t, "2026-11-22T08:00:00Z")},
			{From: at(t, "2026-11-22T09:00:30Z"), Until: at(t, "2026-11-22T12:00:00Z")},
		},
	}, picture.Style{Width: 30})
	require.Equal(t, []string{
		"         +0+1+2+3+4+5+6+7+8+9",
		"  2026-11-22",
		"  07:00  ....................",
		"  07:10  o...................",
	}, got[:4])
	require.Equal(t, "  08:20  ------------------##", got[10])
	require.Equal(t, "  08:30  o#------------------", got[11])
	require.Equal(t, "  09:00  -...................", got[14])
	require.Equal(t, "  o a send (2 to 9: so many, * more)   - free   + partly free   # taken   . quiet   blank: past", got[21])
}

func TestUsageNamesTheCategoryOfARule(t *testing.T) {
	t.Parallel()
	day := message.RuleUsage{
		Rule: "2/calendar_day", Limit: 2, Used: 1,
		From: message.Time{Time: at(t, "2026-11-22T00:00:00Z")}, Until: message.Time{Time: at(t, "2026-11-23T00:00:00Z")},
	}
	marketing := day
	marketing.Category, marketing.Used = "marketing", 2
	var text strings.Builder
	require.NoError(t, picture.Usage(&text, picture.Style{}, message.Usage{Rules: []message.RuleUsage{day, marketing}}))
	require.Equal(t, `  2/calendar_day            ##########..........  1/2  2026-11-22 00:00:00 to 2026-11-23 00:00:00
  marketing 2/calendar_day  ####################  2/2  2026-11-22 00:00:00 to 2026-11-23 00:00:00
`, text.String())
}

func TestRefusalInQuietHours(t *testing.T) {
	t.Parallel()
	quiet := message.Outcome{
		User: "alice", SendAt: message.Time{Time: at(t, "2026-11-22T23:00:00Z")}, Code: fault.CodeQuietHours,
		QuietHours: &message.QuietHours{
			Hours: "22:00-08:00", TimeZone: "Europe/Berlin",
			From: message.Time{Time: at(t, "2026-11-22T21:00:00Z")}, Until: message.Time{Time: at(t, "2026-11-23T07:00:00Z")},
		},
		PreviousFreeAt: message.Time{Time: at(t, "2026-11-22T20:59:59.999Z")},
		NextFreeAt:     message.Time{Time: at(t, "2026-11-23T07:00:00Z")},
	}
	var text strings.Builder
	require.NoError(t, picture.Refusal(&text, picture.Style{Width: 60, Zone: zone(t, "Europe/Berlin")}, quiet, "sendlimit push"))
	require.Equal(t, `refused: alice can't get a message at 2026-11-23 00:00:00 CET

  ---..........X.......................................---
    ^ 2026-11-22 21:59:59.999 free       08:00:00 free ^
               ^ 00:00:00 asked
  . quiet hours   - free

  22:00-08:00  quiet hours in Europe/Berlin (2026-11-22 22:00:00 CET to 2026-11-23 08:00:00 CET)

  free before  2026-11-22 21:59:59.999 CET
  next free    2026-11-23 08:00:00 CET

  try  sendlimit push
`, text.String())

	quiet.Violations = []message.Violation{{
		Rule: "2/calendar_day", Category: "marketing", Limit: 2,
		Conflicts: []message.Conflict{{ID: "a", SendAt: message.Time{Time: at(t, "2026-11-23T08:00:00Z")}}}, ConflictsTotal: 1,
	}}
	text.Reset()
	require.NoError(t, picture.Refusal(&text, picture.Style{Width: 60}, quiet, ""))
	require.Contains(t, text.String(), `
  22:00-08:00               quiet hours in Europe/Berlin (2026-11-22 21:00:00 UTC to 2026-11-23 07:00:00 UTC)
  marketing 2/calendar_day  at most 2 in a calendar day:
                              2026-11-23 08:00:00  a
`)
}
