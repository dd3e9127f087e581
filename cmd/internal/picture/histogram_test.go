package picture_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
)

// counts are buckets of a length, one after the other.
func counts(t *testing.T, from string, width time.Duration, all ...picture.Count) picture.Buckets {
	t.Helper()
	b := picture.Buckets{Width: width}
	next := at(t, from)
	for _, n := range all {
		b.All = append(b.All, picture.Bucket{From: message.Time{Time: next}, Until: message.Time{Time: next.Add(width)}, Count: n})
		next = next.Add(width)
	}
	return b
}

func drawHistogram(t *testing.T, s picture.Style, b picture.Buckets) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, picture.DrawHistogram(&text, s, b))
	return text.String()
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	b := counts(
		t, "2026-11-22T22:00:00Z", time.Hour,
		picture.Count{Accepted: 1234, Shifted: 234}, picture.Count{Accepted: 617, Refused: 1056},
		picture.Count{}, picture.Count{Accepted: 1, Shifted: 1}, picture.Count{Accepted: 40, Shifted: 1, Refused: 3},
	)
	require.Equal(t, `  by send time in UTC, 1 hour a row

  2026-11-22
  22:00  ########################################+++++++++  1,234
  23:00  ########################                             617  1,056 refused
  2026-11-23
  00:00                                                         0
  01:00  +                                                      1
  02:00  #                                                     40      3 refused

  # at the time asked for   + shifted   refused: by the time asked for
`, drawHistogram(t, picture.Style{}, b))
	for line := range strings.Lines(drawHistogram(t, picture.Style{Width: 60}, b)) {
		if strings.Contains(line, ":00") {
			require.LessOrEqual(t, len(line), len("\n")+60)
		}
	}
	berlin := drawHistogram(t, picture.Style{Unicode: true, Width: 50, Zone: zone(t, "Europe/Berlin")}, b)
	require.Contains(t, berlin, "by send time in Europe/Berlin, 1 hour a row\n\n  2026-11-22\n  23:00  █")
	require.Contains(t, berlin, "█▒▒")
}

func TestHistogramOfDays(t *testing.T) {
	t.Parallel()
	require.Equal(t, `  by send time in UTC, 7 days a row

  Mon 2026-11-16  #######################                                      2
  Mon 2026-11-23  ###########################################################  5

  # at the time asked for
`, drawHistogram(t, picture.Style{}, counts(
		t, "2026-11-16T00:00:00Z", 7*24*time.Hour, picture.Count{Accepted: 2}, picture.Count{Accepted: 5},
	)))
}

func TestHistogramOfNothing(t *testing.T) {
	t.Parallel()
	require.Empty(t, drawHistogram(t, picture.Style{}, picture.Buckets{}))
	refused := drawHistogram(t, picture.Style{Width: 40}, counts(t, "2026-11-22T22:00:00Z", time.Minute, picture.Count{Refused: 7}))
	require.Contains(t, refused, "  22:00                     0  7 refused\n")
}
