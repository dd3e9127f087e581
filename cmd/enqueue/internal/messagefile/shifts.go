package messagefile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// shifts says how much later than asked for messages are, in memory that is
// bounded: three digits of each length of time are kept.
type shifts struct {
	counts map[int64]int // by ms, rounded down
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
	s.counts[ms/unit*unit]++
	s.total++
	s.most = max(s.most, by)
}

// quantile is the shortest shift that so many percent of all are not longer than,
// to within a hundredth of it. There has to be one.
func (s *shifts) quantile(percent int) time.Duration {
	seen := 0
	for _, ms := range slices.Sorted(maps.Keys(s.counts)) {
		if seen += s.counts[ms]; 100*seen >= percent*s.total {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return s.most
}

// ShiftedBy is how much later than asked for shifted messages would be sent, in
// seconds.
type ShiftedBy struct {
	Median float64 `json:"median"` // to within 1 %, as is P90
	P90    float64 `json:"p90"`    // nine in ten by no more than that
	Max    float64 `json:"max"`
}

// summary is nil where nothing was shifted.
func (s *shifts) summary() *ShiftedBy {
	if s.total == 0 {
		return nil
	}
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
	return &ShiftedBy{Median: seconds(s.quantile(50)), P90: seconds(s.quantile(90)), Max: seconds(s.most)}
}

// String says it for a person.
func (s *ShiftedBy) String() string {
	in := func(seconds float64) string {
		return cli.FormatDuration(time.Duration(math.Round(seconds*1000)) * time.Millisecond)
	}
	return fmt.Sprintf("half of them by up to %s, nine in ten by up to %s, the furthest by %s", in(s.Median), in(s.P90), in(s.Max))
}
