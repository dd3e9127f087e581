package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Refusal draws why a time was refused, for an outcome with violations or quiet hours:
//
//	---##########################oX###########################---
//	  ^ 11:10:11 free                            11:12:11 free ^
//	                              ^ 11:11:12 asked
//	o in the way   # taken   - free
//
// with . for quiet hours. It lists the rules and quiet hours in the way, the nearest free
// times, and what to try.
func Refusal(w io.Writer, s Style, o message.Outcome, try string) error {
	lines := make([]string, 0, 32)
	lines = append(lines, fmt.Sprintf("%s %s can't get a message at %s", s.Palette.Yellow("refused:"), o.User,
		s.Palette.Bold(s.Time(o.SendAt.Time))), "")
	lines = append(lines, newScale(s, o).draw()...)
	lines = append(lines, "")
	lines = append(lines, s.reasons(o)...)
	lines = append(lines, "",
		indent+"free before  "+s.orNone(o.PreviousFreeAt),
		indent+"next free    "+s.orNone(o.NextFreeAt))
	if try != "" {
		lines = append(lines, "", indent+"try  "+s.Palette.Bold(try))
	}
	return writeLines(w, lines)
}

func (s Style) orNone(t message.Time) string {
	if t.IsZero() {
		return "none"
	}
	return s.Palette.Green(s.Time(t.Time))
}

// freeMargin is how many columns of free time a scale shows on each side of the taken time.
const freeMargin = 3

// scale maps the taken time around a refused one to columns: from the previous free time to the
// next. Without a free time, the scale ends at the last conflict.
type scale struct {
	Style

	outcome     message.Outcome
	from, until time.Time
	columns     int // of taken time
	left, right int // columns of free time
}

func newScale(s Style, o message.Outcome) *scale {
	at := o.SendAt.Time
	c := &scale{Style: s, outcome: o, from: at, until: at}
	for _, v := range o.Violations {
		for _, conflict := range v.Conflicts {
			c.include(conflict.SendAt.Time)
		}
	}
	if q := o.QuietHours; q != nil {
		c.include(q.From.Time)
		c.include(q.Until.Time)
	}
	if previous := o.PreviousFreeAt.Time; !previous.IsZero() {
		c.include(previous)
		c.left = freeMargin
	}
	if next := o.NextFreeAt.Time; !next.IsZero() {
		c.include(next)
		c.right = freeMargin
	}
	c.columns = min(s.width(), standardWidth) - 2*len(indent) - c.left - c.right
	return c
}

func (c *scale) include(t time.Time) {
	if t.Before(c.from) {
		c.from = t
	}
	if t.After(c.until) {
		c.until = t
	}
}

// column returns the column of a time between from and until.
func (c *scale) column(t time.Time) int {
	span := c.until.Sub(c.from)
	if span <= 0 {
		return c.left + c.columns/2
	}
	return c.left + int(float64(c.columns-1)*float64(t.Sub(c.from))/float64(span)+0.5)
}

// beside returns the column of a time, or the next one if other has the same column and
// would hide it.
func (c *scale) beside(t, other time.Time) int {
	switch column := c.column(t); {
	case column != c.column(other):
		return column
	case t.After(other):
		return column + 1
	default:
		return max(0, column-1)
	}
}

func (c *scale) draw() []string {
	g := c.glyphs()
	line := newRow(c.left + c.columns + c.right)
	for i := range line {
		if i < c.left || i >= c.left+c.columns {
			line.put(i, g.free, green)
		} else {
			line.put(i, g.taken, yellow)
		}
	}
	if q := c.outcome.QuietHours; q != nil {
		for i := c.column(q.From.Time); i <= c.column(q.Until.Time); i++ {
			line.put(i, g.quiet, plain)
		}
	}
	at := c.outcome.SendAt.Time
	for _, v := range c.outcome.Violations {
		for _, conflict := range v.Conflicts {
			line.put(c.beside(conflict.SendAt.Time, at), g.send, bold)
		}
	}
	line.put(c.column(at), g.asked, red)
	lines := append([]string{c.text(line)}, c.edges()...)
	lines = append(lines, c.pointer(c.column(at), c.clock(at, at)+" asked"),
		c.legend(line))
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return lines
}

// legend explains the characters that the line contains.
func (c *scale) legend(line row) string {
	g := c.glyphs()
	var entries []string
	for _, entry := range []struct {
		glyph   rune
		meaning string
	}{{g.send, "in the way"}, {g.taken, "taken"}, {g.quiet, "quiet hours"}, {g.free, "free"}} {
		if slices.ContainsFunc(line, func(c cell) bool { return c.glyph == entry.glyph }) {
			entries = append(entries, fmt.Sprintf("%c %s", entry.glyph, entry.meaning))
		}
	}
	return c.Palette.Dim(strings.Join(entries, "   "))
}

// edges labels the ends of the scale, in one line if there is room.
func (c *scale) edges() []string {
	at := c.outcome.SendAt.Time
	var left, right string
	if c.left > 0 {
		left = strings.Repeat(" ", c.left-1) + "^ " + c.clock(c.outcome.PreviousFreeAt.Time, at) + " free"
	}
	if c.right > 0 {
		right = c.clock(c.outcome.NextFreeAt.Time, at) + " free ^"
	}
	between := c.left + c.columns + 1 - len(left) - len(right)
	switch {
	case right == "" && left == "":
		return nil
	case right == "":
		return []string{left}
	case left != "" && between < 1:
		return []string{left, strings.Repeat(" ", between+len(left)) + right}
	default:
		return []string{left + strings.Repeat(" ", between) + right}
	}
}

// pointer labels a column, on the side that has room.
func (c *scale) pointer(column int, text string) string {
	if room := c.left + c.columns + c.right - column; len("^ ")+len(text) > room {
		text += " ^"
		return strings.Repeat(" ", max(0, column+1-len(text))) + text
	}
	return strings.Repeat(" ", column) + "^ " + text
}
