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

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Summary counts the outcomes of a file. Its JSON is part of the contract.
type Summary struct {
	Lines    int `json:"lines"`    // with an outcome
	Accepted int `json:"accepted"` // new ones, including shifted
	Replayed int `json:"replayed"`
	Shifted  int `json:"shifted"` // of the accepted ones
	Refused  int `json:"refused"`
	Invalid  int `json:"invalid"`
	Late     int `json:"late,omitempty"` // of the accepted ones: their send time had passed, and they are sent now
	Past     int `json:"past,omitempty"` // of the invalid ones: their send time has passed
	Errors   int `json:"errors"`         // not judged: the store failed, or the rules are unknown
	Recorded int `json:"recorded"`       // past sends: new ones, including forgotten
	// RefusedByRule counts a refusal under the first rule that it would break.
	RefusedByRule map[string]int `json:"refused_by_rule"`
	// RefusedByCode counts the other refusals, such as those in quiet hours.
	RefusedByCode map[string]int `json:"refused_by_code,omitempty"`
	// ShiftedBy, Histogram and JudgedBy are for a dry run.
	ShiftedBy *ShiftedBy       `json:"shifted_by_seconds,omitempty"`
	Histogram []picture.Bucket `json:"histogram,omitempty"`
	JudgedBy  string           `json:"judged_by,omitempty"` // other rules than the store's
	Baseline  *Baseline        `json:"baseline,omitempty"`  // with JudgedBy: the same under the store's rules
	Trimmed   int              `json:"trimmed,omitempty"`   // values of CSV that had white space at their ends
	Seconds   float64          `json:"seconds"`

	// Failure says briefly why lines have no outcome.
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
		s.Failure = "the rules of their users are unknown"
		return
	}
	s.Lines++
	if s.Plan != nil {
		s.Plan.add(o)
	}
	switch {
	case o.Outcome == message.Invalid:
		s.Invalid++
		if o.Code == fault.CodeInPast {
			s.Past++
		}
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
		if o.Late {
			s.Late++
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

// Finish stores how long everything took, how many values of the file were trimmed, and completes
// the JSON.
func (s *Summary) Finish(took time.Duration, trimmed int) {
	s.Trimmed = trimmed
	s.Seconds = math.Round(took.Seconds()*1000) / 1000
	if s.RefusedByRule == nil {
		s.RefusedByRule = map[string]int{}
	}
	if s.Plan != nil {
		s.ShiftedBy, s.Histogram = s.Plan.shifts.summary(), s.Plan.Buckets().All
		s.JudgedBy = s.Plan.JudgedBy
		s.Baseline = s.Plan.Baseline.finish()
	}
}

// Print writes the summary for a person.
func (s *Summary) Print(w io.Writer, palette cli.Palette) error {
	done := row{name: "accepted", count: s.Accepted, note: of(s.Shifted, "of them shifted to a free time") + late(s.Late, s.Shifted)}
	if s.Sent {
		done = row{name: "recorded", count: s.Recorded, note: of(s.forgotten, "of them older than any rule looks back")}
	}
	rows := []row{
		done,
		{name: "replayed", count: s.Replayed, note: note(s.Replayed, done.name+" before: nothing changed")},
		{name: "refused", count: s.Refused},
	}
	var now Baseline
	if s.Baseline != nil {
		now = *s.Baseline
		rows[0].now, rows[1].now, rows[2].now = &now.Accepted, &now.Replayed, &now.Refused
		rows[0].note = ""
		rows = slices.Insert(rows, 1, row{name: "  shifted", count: s.Shifted, now: &now.Shifted})
	}
	rows = append(rows, descending(s.RefusedByRule, now.RefusedByRule)...)
	rows = append(rows, descending(s.RefusedByCode, now.RefusedByCode)...)
	rows = append(rows, row{name: "invalid", count: s.Invalid, note: note(s.Invalid, "skipped"+past(s.Past))})
	if s.Errors > 0 {
		rows = append(rows, row{name: "errors", count: s.Errors, note: s.Failure})
	}
	names, counts, before := 0, 0, 0
	if s.Baseline != nil {
		counts, before = len(whatIfColumn), len(nowColumn)
	}
	for _, r := range rows {
		names, counts, before = max(names, len(r.name)), max(counts, len(cli.Thousands(r.count))), max(before, len(r.before()))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s in %s%s%s\n\n", Lines(s.Lines+s.Errors), s.took(), s.rate(), s.dryRunNote())
	if s.Baseline != nil {
		fmt.Fprintf(&text, "  %-*s  %*s  %*s\n", names, "", counts, whatIfColumn, before, nowColumn)
	}
	for _, r := range rows {
		line := fmt.Sprintf("  %-*s  %*s", names, r.name, counts, cli.Thousands(r.count))
		if before > 0 {
			line = strings.TrimRight(line+fmt.Sprintf("  %*s", before, r.before()), " ")
		}
		if r.note != "" {
			line += "  " + palette.Dim(r.note)
		}
		text.WriteString(line + "\n")
	}
	if s.ShiftedBy != nil {
		fmt.Fprintf(&text, "\n  shifted: %s\n", s.ShiftedBy)
	}
	if now.ShiftedBy != nil {
		fmt.Fprintf(&text, "  shifted now: %s\n", now.ShiftedBy)
	}
	if s.Trimmed > 0 {
		fmt.Fprintf(&text, "\n  %s\n", TrimmedNote(s.Trimmed))
	}
	if s.JudgedBy != "" {
		fmt.Fprintf(&text, "\n  judged by: %s\n", s.JudgedBy)
	}
	_, err := io.WriteString(w, text.String())
	return err //nolint:wrapcheck // of the caller's own writer
}

// TrimmedNote says how many values of CSV lost white space at their ends.
func TrimmedNote(values int) string {
	if values == 1 {
		return "white space was cut off at the ends of 1 value"
	}
	return "white space was cut off at the ends of " + cli.Thousands(values) + " values"
}

func (s *Summary) took() string {
	if s.Seconds < 60 {
		return fmt.Sprintf("%.1f seconds", s.Seconds)
	}
	return cli.FormatDuration(time.Duration(s.Seconds) * time.Second)
}

func (s *Summary) dryRunNote() string {
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
	now   *int // under the store's rules; nil for none
}

// The heads of the columns for the other rules and for the store's.
const (
	whatIfColumn = "what if"
	nowColumn    = "now"
)

// before returns the figure under the store's rules.
func (r row) before() string {
	if r.now == nil {
		return ""
	}
	return cli.Thousands(*r.now)
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

// late returns a note about n late lines, which follows one about the shifted ones.
func late(n, shifted int) string {
	if shifted > 0 {
		return note(n, ", "+cli.Thousands(n)+" late and sent now")
	}
	return of(n, "of them late and sent now")
}

// past returns a note about n lines whose send time has passed, "" if there are none.
func past(n int) string {
	return note(n, ", "+cli.Thousands(n)+" of them since their send time has passed")
}

// descending returns counts as rows, the largest first. now has the counts under the store's rules,
// nil for none.
func descending(counts, now map[string]int) []row {
	rows := make([]row, 0, len(counts))
	names := slices.Sorted(maps.Keys(counts))
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, both := counts[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		r := row{name: "  " + name, count: counts[name]}
		if now != nil {
			n := now[name]
			r.now = &n
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.count, a.count) })
	return rows
}
