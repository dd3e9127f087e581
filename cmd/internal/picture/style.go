package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// Style says how to draw. The zero value is 80 columns of plain ASCII in UTC.
type Style struct {
	Width   int // in columns; zero means 80
	Unicode bool
	Palette cli.Palette
	Zone    *time.Location // of the times shown; nil means UTC
	// Titles has titles of messages that are in the way, by id.
	Titles map[string]string
}

const (
	standardWidth = 80
	leastWidth    = 40
)

// StyleFor returns the style for a writer: as wide as its terminal, with colours on a terminal, in
// Unicode if the environment's locale has UTF-8.
func StyleFor(w io.Writer, getenv func(string) string, zone *time.Location) Style {
	s := Style{Width: standardWidth, Palette: cli.NewPalette(w, getenv), Zone: zone}
	if file, ok := w.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			s.Width = width
		}
	}
	// The first variable that is set decides, as in the C library.
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(getenv(name)); locale != "" {
			s.Unicode = strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
			break
		}
	}
	return s
}

func (s Style) width() int {
	if s.Width == 0 {
		return standardWidth
	}
	return max(s.Width, leastWidth)
}

func (s Style) zone() *time.Location {
	if s.Zone == nil {
		return time.UTC
	}
	return s.Zone
}

// Time formats a time with its date and zone.
func (s Style) Time(t time.Time) string { return cli.FormatTime(t, s.zone()) }

// clock formats a time. It has a date only if that of other differs.
func (s Style) clock(t, beside time.Time) string {
	t, beside = t.In(s.zone()), beside.In(s.zone())
	layout := "15:04:05"
	if t.Nanosecond() != 0 {
		layout = "15:04:05.000"
	}
	if t.YearDay() != beside.YearDay() || t.Year() != beside.Year() {
		layout = time.DateOnly + " " + layout
	}
	return t.Format(layout)
}

// glyphs are the characters of pictures.
type glyphs struct {
	send, asked         rune
	free, partly, taken rune
	quiet               rune
	full, empty         rune // of a bar
	shifted             rune // the end of a bar
	dash                string
}

func (s Style) glyphs() glyphs {
	if s.Unicode {
		return glyphs{send: '●', asked: '✗', free: '─', partly: '░', taken: '▒', quiet: '·', full: '█', empty: '░', shifted: '▒', dash: "–"}
	}
	return glyphs{send: 'o', asked: 'X', free: '-', partly: '+', taken: '#', quiet: '.', full: '#', empty: '.', shifted: '+', dash: "to"}
}

// barWidth is the width of every bar.
const barWidth = 20

// bar draws how much of a limit is used. The bar is full only if the limit is used up, or exceeded
// since it was lowered. It is empty only if nothing is used.
func (s Style) bar(used, limit int) string {
	g := s.glyphs()
	full := used * barWidth / limit
	switch {
	case used >= limit:
		full = barWidth
	case used > 0:
		full = max(1, full)
	}
	text := strings.Repeat(string(g.full), full)
	if used >= limit {
		text = s.Palette.Yellow(text)
	} else {
		text = s.Palette.Green(text)
	}
	return text + s.Palette.Dim(strings.Repeat(string(g.empty), barWidth-full))
}

// ink is the colour of a character.
type ink uint8

const (
	plain ink = iota
	bold
	red
	green
	yellow
)

func (s Style) paint(i ink, text string) string {
	switch i {
	case bold:
		return s.Palette.Bold(text)
	case red:
		return s.Palette.Red(text)
	case green:
		return s.Palette.Green(text)
	case yellow:
		return s.Palette.Yellow(text)
	default:
		return text
	}
}

// cell is one character of a row.
type cell struct {
	glyph rune
	ink   ink
}

// row is a line of cells.
type row []cell

func newRow(width int) row {
	return slices.Repeat(row{{glyph: ' '}}, width)
}

func (r row) put(at int, glyph rune, i ink) {
	if at >= 0 && at < len(r) {
		r[at] = cell{glyph, i}
	}
}

// write writes a text from a column.
func (r row) write(at int, text string) {
	for _, glyph := range text {
		r.put(at, glyph, plain)
		at++
	}
}

// text joins the cells, and paints neighbours of one colour together.
func (s Style) text(r row) string {
	var text strings.Builder
	for len(r) > 0 {
		n := slices.IndexFunc(r, func(c cell) bool { return c.ink != r[0].ink })
		if n < 0 {
			n = len(r)
		}
		var run strings.Builder
		for _, c := range r[:n] {
			run.WriteRune(c.glyph)
		}
		text.WriteString(s.paint(r[0].ink, run.String()))
		r = r[n:]
	}
	return text.String()
}

// indent begins every line of a picture.
const indent = "  "

func writeLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

// span formats the range from from to until, with the date of the end only if it differs.
func (s Style) span(from, until time.Time) string {
	return fmt.Sprintf("%s %s %s", s.clock(from, time.Time{}), s.glyphs().dash, s.clock(until, from))
}
