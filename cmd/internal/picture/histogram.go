package picture

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// leastBar is the smallest width of a histogram's bars, in columns.
const leastBar = 10

// DrawHistogram draws a campaign over time, a row for each bucket, and nothing without
// buckets:
//
//	by send time in UTC, 1 hour a row
//
//	2026-11-22
//	08:00  ############################++++++  1,234  56 refused
//	09:00  #######                               234
//
//	# at the time asked for   + shifted   refused: by the time asked for
func DrawHistogram(w io.Writer, s Style, b Buckets) error {
	if len(b.All) == 0 {
		return nil
	}
	label := "15:04"
	if b.Width >= 24*time.Hour {
		label = "Mon 2006-01-02"
	}
	accepted, refused, most := 0, 0, 0
	total := Count{}
	for _, one := range b.All {
		most = max(most, one.Accepted)
		accepted = max(accepted, len(cli.Thousands(one.Accepted)))
		if one.Refused > 0 {
			refused = max(refused, len(cli.Thousands(one.Refused)))
		}
		total.Shifted += one.Shifted
		total.Refused += one.Refused
	}
	columns := s.width() - 2*len(indent) - len(label) - 2 - accepted
	if refused > 0 {
		columns -= refused + len("   refused")
	}
	columns = max(columns, leastBar)

	lines := []string{indent + s.Palette.Dim(fmt.Sprintf("by send time in %s, %s a row", s.zone(), cli.FormatDuration(b.Width))), ""}
	date := ""
	for _, one := range b.All {
		from := one.From.In(s.zone())
		if day := from.Format(time.DateOnly); day != date && b.Width < 24*time.Hour {
			lines, date = append(lines, indent+s.Palette.Bold(day)), day
		}
		line := fmt.Sprintf("%s%s  %s  %*s", indent, from.Format(label), s.column(one.Count, most, columns), accepted, cli.Thousands(one.Accepted))
		if one.Refused > 0 {
			line += "  " + s.Palette.Yellow(fmt.Sprintf("%*s refused", refused, cli.Thousands(one.Refused)))
		}
		lines = append(lines, line)
	}
	return writeLines(w, append(lines, "", s.histogramLegend(total)))
}

// column draws the bar of a bucket. A part that is not zero has a cell, if there are
// enough.
func (s Style) column(n Count, most, columns int) string {
	g := s.glyphs()
	cells, shifted := share(n.Accepted, most, columns), 0
	switch {
	case n.Shifted == n.Accepted:
		shifted = cells
	case cells > 1:
		shifted = min(share(n.Shifted, n.Accepted, cells), cells-1)
	case 2*n.Shifted > n.Accepted:
		shifted = 1
	}
	return s.Palette.Green(strings.Repeat(string(g.full), cells-shifted)) +
		s.Palette.Yellow(strings.Repeat(string(g.shifted), shifted)) + strings.Repeat(" ", columns-cells)
}

// share returns how many of the cells a part of a whole gets: at least one, unless the part
// is zero.
func share(part, whole, cells int) int {
	if part == 0 {
		return 0
	}
	return max(1, part*cells/whole)
}

func (s Style) histogramLegend(total Count) string {
	g := s.glyphs()
	entries := []string{fmt.Sprintf("%c at the time asked for", g.full)}
	if total.Shifted > 0 {
		entries = append(entries, fmt.Sprintf("%c shifted", g.shifted))
	}
	if total.Refused > 0 {
		entries = append(entries, "refused: by the time asked for")
	}
	return indent + s.Palette.Dim(strings.Join(entries, "   "))
}
