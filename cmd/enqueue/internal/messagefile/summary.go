package messagefile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/histogram"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Summary counts the outcomes of a file. Its JSON is part of the contract.
type Summary struct {
	Lines    int `json:"lines"`    // with an outcome
	Accepted int `json:"accepted"` // new ones, including shifted
	Replayed int `json:"replayed"`
	Shifted  int `json:"shifted"` // of the accepted ones
	Refused  int `json:"refused"`
	Invalid  int `json:"invalid"`
	Errors   int `json:"errors"`   // not judged: the store failed, or the rules are unknown
	Recorded int `json:"recorded"` // past sends: new ones, including forgotten
	// RefusedByRule counts a refusal under the first rule that it would break.
	RefusedByRule map[string]int `json:"refused_by_rule"`
	// RefusedByCode counts the other refusals, such as those in quiet hours.
	RefusedByCode map[string]int `json:"refused_by_code,omitempty"`
	// ShiftedBy, Histogram and JudgedBy are for a dry run.
	ShiftedBy *ShiftedBy         `json:"shifted_by_seconds,omitempty"`
	Histogram []histogram.Bucket `json:"histogram,omitempty"`
	JudgedBy  string             `json:"judged_by,omitempty"` // other rules than the store's
	Seconds   float64            `json:"seconds"`

	// Failure says briefly why Errors have no outcome.
	Failure string `json:"-"`

	// Sent means that the lines are past sends.
	Sent bool `json:"-"`

	// Plan is for a dry run, otherwise nil.
	Plan *Plan `json:"-"`

	forgotten int // of the recorded ones: older than any rule looks back
}

// Add counts an outcome.
func (s *Summary) Add(o message.Outcome) {
	if o.Outcome == message.Errored {
		s.Errors++
		s.Failure = "the rules of their users are not known"
		return
	}
	s.Lines++
	if s.Plan != nil {
		s.Plan.add(o)
	}
	switch {
	case o.Outcome == message.Invalid:
		s.Invalid++
	case o.Outcome == message.Refused:
		s.refuse(o)
	case o.Replayed:
		s.Replayed++
	case o.Outcome == message.Recorded:
		s.Recorded++
		if o.Forgotten {
			s.forgotten++
		}
	default:
		s.Accepted++
		if o.Shifted {
			s.Shifted++
		}
	}
}

func (s *Summary) refuse(o message.Outcome) {
	s.Refused++
	if rule := o.RefusedBy(); rule != "" {
		count(&s.RefusedByRule, rule)
	} else {
		count(&s.RefusedByCode, string(o.Code))
	}
}

func count(counts *map[string]int, name string) {
	if *counts == nil {
		*counts = make(map[string]int)
	}
	(*counts)[name]++
}

// Finish stores how long everything took, and completes the JSON.
func (s *Summary) Finish(took time.Duration) {
	s.Seconds = math.Round(took.Seconds()*1000) / 1000
	if s.RefusedByRule == nil {
		s.RefusedByRule = map[string]int{}
	}
	if s.Plan != nil {
		s.ShiftedBy, s.Histogram = s.Plan.shifts.summary(), s.Plan.Buckets().All
		s.JudgedBy = s.Plan.JudgedBy
	}
}

// Print writes the summary for a person.
func (s *Summary) Print(w io.Writer, palette cli.Palette) error {
	done := row{"accepted", s.Accepted, of(s.Shifted, "of them shifted to a free time")}
	if s.Sent {
		done = row{"recorded", s.Recorded, of(s.forgotten, "of them older than any rule looks back")}
	}
	rows := []row{
		done,
		{"replayed", s.Replayed, note(s.Replayed, done.name+" before: nothing changed")},
		{"refused", s.Refused, ""},
	}
	rows = append(rows, descending(s.RefusedByRule)...)
	rows = append(rows, descending(s.RefusedByCode)...)
	rows = append(rows, row{"invalid", s.Invalid, note(s.Invalid, "skipped")})
	if s.Errors > 0 {
		rows = append(rows, row{"errors", s.Errors, s.Failure})
	}
	names, counts := 0, 0
	for _, r := range rows {
		names, counts = max(names, len(r.name)), max(counts, len(cli.Thousands(r.count)))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s in %s%s%s\n\n", Lines(s.Lines+s.Errors), s.took(), s.rate(), s.rehearsed())
	for _, r := range rows {
		line := fmt.Sprintf("  %-*s  %*s", names, r.name, counts, cli.Thousands(r.count))
		if r.note != "" {
			line += "  " + palette.Dim(r.note)
		}
		text.WriteString(line + "\n")
	}
	if s.ShiftedBy != nil {
		fmt.Fprintf(&text, "\n  shifted: %s\n", s.ShiftedBy)
	}
	if s.JudgedBy != "" {
		fmt.Fprintf(&text, "\n  judged by: %s\n", s.JudgedBy)
	}
	_, err := io.WriteString(w, text.String())
	return err //nolint:wrapcheck // of the caller's own writer
}

func (s *Summary) took() string {
	if s.Seconds < 60 {
		return fmt.Sprintf("%.1f seconds", s.Seconds)
	}
	return cli.FormatDuration(time.Duration(s.Seconds) * time.Second)
}

func (s *Summary) rehearsed() string {
	if s.Plan == nil {
		return ""
	}
	return " (dry run: nothing was changed)"
}

func (s *Summary) rate() string {
	if s.Seconds == 0 {
		return ""
	}
	return fmt.Sprintf(", %s a second", cli.Thousands(int(float64(s.Lines+s.Errors)/s.Seconds)))
}

// Lines returns a number of lines in words.
func Lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return cli.Thousands(n) + " lines"
}

// row is a line of the summary.
type row struct {
	name  string
	count int
	note  string
}

// of returns a note about n of a count, "" if n is zero.
func of(n int, what string) string { return note(n, cli.Thousands(n)+" "+what) }

// note returns a note about a count, "" if it is zero.
func note(n int, what string) string {
	if n == 0 {
		return ""
	}
	return what
}

// descending returns counts as rows, the largest first.
func descending(counts map[string]int) []row {
	rows := make([]row, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, row{name: "  " + name, count: counts[name]})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.count, a.count) })
	return rows
}
