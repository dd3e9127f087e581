package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Never is the word for an empty list of percents.
const Never = "never"

// TimeWidth is the width of a column with times of FormatTime.
const TimeWidth = len("2006-01-02 15:04:05.000 CEST")

// FormatTime formats a time in a zone for a person: "2026-11-22 11:11:11 UTC", with
// milliseconds if there are any.
func FormatTime(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	layout := "2006-01-02 15:04:05 MST"
	if t.Nanosecond() >= int(time.Millisecond) {
		layout = "2006-01-02 15:04:05.000 MST"
	}
	return t.Format(layout)
}

// FormatDuration formats a duration for a person by its two largest units: "1 minute",
// "2 hours 5 minutes", "3 days". It cuts off the rest.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + FormatDuration(-d)
	}
	if d >= time.Minute {
		d = d.Truncate(time.Second)
	}
	var parts []string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{
		{24 * time.Hour, "day"},
		{time.Hour, "hour"},
		{time.Minute, "minute"},
		{time.Second, "second"},
		{time.Millisecond, "millisecond"},
	} {
		n := d / unit.length
		d %= unit.length
		switch {
		case n == 1:
			parts = append(parts, "1 "+unit.name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, unit.name))
		}
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	return strings.Join(parts[:min(2, len(parts))], " ")
}

// Thousands formats a number with its digits in groups, "81,959".
func Thousands(n int) string { return humanize.Comma(int64(n)) }

// FormatCount formats a number with the name of the counted things: "1 key", "2 keys".
func FormatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// OneLine returns somebody else's text for a line of a terminal: at most width characters, with
// spaces for what is not printable, such as escape sequences.
func OneLine(s string, width int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s))
	if len(runes) > width {
		runes = append(runes[:width-1], '…')
	}
	return string(runes)
}

// FormatLimit formats a limit; 0 means none.
func FormatLimit(limit int64) string {
	if limit == 0 {
		return "no limit"
	}
	return strconv.FormatInt(limit, 10)
}

// FormatAlertAt formats percents that trigger alerts: "80%, 100%". Nil means the defaults, an empty
// list means Never.
func FormatAlertAt(percents []int) string {
	if percents == nil {
		percents = policy.DefaultAlertAt()
	}
	if len(percents) == 0 {
		return Never
	}
	words := make([]string, 0, len(percents))
	for _, percent := range percents {
		words = append(words, strconv.Itoa(percent)+"%")
	}
	return strings.Join(words, ", ")
}

// ParseAlertAt reads a list of percents, "80,100", or Never: an empty list.
func ParseAlertAt(text string) ([]int, error) {
	list := []int{}
	if text == Never {
		return list, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		percent, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil, &fault.InvalidError{Field: "alert_at", Value: text, Want: "percents such as 80,100, or never"}
		}
		list = append(list, percent)
	}
	return list, nil
}

// Visible escapes characters that change a terminal unseen, as \u202e does: the controls of C1,
// which begin escape sequences in some terminals, and those that turn the direction of writing.
// JSON means the same. Colours and line ends stay.
func Visible(text string) string {
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unseen(r rune) bool { return r >= 0x7f && r <= 0x9f || unicode.Is(unicode.Bidi_Control, r) }

// VisibleTo returns a writer that writes whole lines to w, as Visible returns them.
func VisibleTo(w io.Writer) io.Writer { return visibleWriter{w} }

type visibleWriter struct{ to io.Writer }

// Write writes whole characters.
func (w visibleWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, Visible(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
