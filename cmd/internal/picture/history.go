package picture

import (
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// History returns the changes of a message, oldest first: a heading and a line each; "" for
// none.
func (s Style) History(history []message.HistoryEntry) string {
	if len(history) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString(indent + "history\n")
	for _, c := range history {
		glyph, colour := s.mark(c)
		line := s.paint(colour, string(glyph)) + " " + s.Time(c.At.Time) + "  " + s.change(c)
		fmt.Fprintf(&text, "%s%s%s\n", indent, indent, line)
	}
	return text.String()
}

// mark returns the character and colour that a change begins with.
func (s Style) mark(c message.HistoryEntry) (rune, ink) {
	g := s.glyphs()
	switch c.Change {
	case message.ChangeCancelled:
		return g.asked, yellow
	case message.ChangeDropped, message.ChangeFailed, message.ChangeUncertain:
		return g.asked, red
	case message.ChangePostponed, message.ChangeRetry, message.ChangeTakenOver, message.ChangePaused:
		return g.send, yellow
	default:
		return g.send, green
	}
}

// change describes a change.
func (s Style) change(c message.HistoryEntry) string {
	text := strings.ReplaceAll(c.Change, "_", " ")
	if c.Attempt > 0 {
		text += fmt.Sprintf(" (try %d)", c.Attempt)
	}
	former, next := s.clock(c.FormerSendAt.Time, c.At.Time), s.clock(c.SendAt.Time, c.At.Time)
	switch {
	case !c.FormerSendAt.IsZero() && !c.SendAt.IsZero():
		text += " from " + former + " to " + next
	case !c.SendAt.IsZero():
		text += " for " + next
	case !c.Until.IsZero():
		text += ", until " + s.clock(c.Until.Time, c.At.Time) + " at the latest"
	}
	if c.Reason != "" {
		text += ": " + strings.TrimPrefix(c.Reason, message.LatePrefix)
	}
	return text
}
