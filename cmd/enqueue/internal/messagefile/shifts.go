package messagefile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// shifts counts how much later than requested messages would be sent. To bound its memory, it keeps
// three digits.
type shifts struct {
	counts map[int64]int // by ms, rounded up
	total  int
	most   time.Duration
}

func (s *shifts) add(by time.Duration) {
	if s.counts == nil {
		s.counts = make(map[int64]int)
	}
	ms, unit := by.Milliseconds(), int64(1)
	for ms/unit >= 1000 {
		unit *= 10
	}
	s.counts[(ms+unit-1)/unit*unit]++
	s.total++
	s.most = max(s.most, by)
}

// quantile returns the shortest duration that at most percent of the shifts exceed, up to 1 % too
// long. There must be a shift.
func (s *shifts) quantile(percent int) time.Duration {
	seen := 0
	for _, ms := range slices.Sorted(maps.Keys(s.counts)) {
		if seen += s.counts[ms]; 100*seen >= percent*s.total {
			return min(time.Duration(ms)*time.Millisecond, s.most)
		}
	}
	return s.most
}

// ShiftedBy is how much later than requested shifted messages would be sent, in seconds.
// Median and P90 may be up to 1 % too large.
type ShiftedBy struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"` // nine in ten are shifted by at most this
	Max    float64 `json:"max"`
}

// summary returns nil if nothing was shifted.
func (s *shifts) summary() *ShiftedBy {
	if s.total == 0 {
		return nil
	}
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
	return &ShiftedBy{Median: seconds(s.quantile(50)), P90: seconds(s.quantile(90)), Max: seconds(s.most)}
}

// String returns a sentence for a person.
func (s *ShiftedBy) String() string {
	in := func(seconds float64) time.Duration { return time.Duration(math.Round(seconds*1000)) * time.Millisecond }
	most := in(s.Max)
	upTo := func(seconds float64) string { return cli.FormatDuration(min(roundedUp(in(seconds)), most)) }
	return fmt.Sprintf("half of them by up to %s, nine in ten by up to %s, the furthest by %s", upTo(s.Median), upTo(s.P90), cli.FormatDuration(most))
}

// roundedUp rounds a duration up so that cli.FormatDuration cuts nothing off.
func roundedUp(d time.Duration) time.Duration {
	unit := time.Millisecond
	switch {
	case d >= 24*time.Hour:
		unit = time.Hour
	case d >= time.Hour:
		unit = time.Minute
	case d >= time.Minute:
		unit = time.Second
	}
	return (d + unit - 1).Truncate(unit)
}
