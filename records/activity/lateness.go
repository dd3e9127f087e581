package activity

import (
	"math"
	"time"
)

// latenessSpans is the number of spans of a Lateness. The first span ends at 1 ms, each further one
// √2 times later. The last one begins after a day and has no end.
const latenessSpans = 55

// Lateness counts delivered messages by lateness. The bounds of its spans grow by √2, so that a
// quantile is off by less than half its size.
type Lateness [latenessSpans]int64

// latenessEnd returns the end of a span, where the next one begins.
func latenessEnd(span int) time.Duration {
	return time.Duration(math.Round(float64(time.Millisecond) * math.Pow(2, float64(span)/2)))
}

// latenessSpan returns the span of a lateness. Early messages are in the first.
func latenessSpan(late time.Duration) int {
	if late < time.Millisecond {
		return 0
	}
	span := min(int(2*math.Log2(float64(late)/float64(time.Millisecond)))+1, latenessSpans-1)
	// The logarithm may have a rounding error.
	for span < latenessSpans-1 && late >= latenessEnd(span) {
		span++
	}
	for late < latenessEnd(span-1) {
		span--
	}
	return span
}

// Add counts a message.
func (h *Lateness) Add(late time.Duration) { h[latenessSpan(late)]++ }

// Count returns the number of messages.
func (h Lateness) Count() (n int64) {
	for _, count := range h {
		n += count
	}
	return n
}

// Quantile returns the lateness quantile q, 0 to 1: 0.5 is the median. It is interpolated within a
// span, and at most the begin of the last span, a little more than a day. ok is false if there are
// no messages.
func (h Lateness) Quantile(q float64) (d time.Duration, ok bool) {
	total := h.Count()
	if total == 0 {
		return 0, false
	}
	rank := min(max(q, 0), 1) * float64(total)
	before := 0.0
	for span, count := range h {
		n := float64(count)
		if n == 0 || before+n < rank {
			before += n
			continue
		}
		part := (rank - before) / n
		switch span {
		case 0:
			return time.Duration(part * float64(time.Millisecond)), true
		case latenessSpans - 1:
			return latenessEnd(span - 1), true
		}
		begin := float64(latenessEnd(span - 1))
		return time.Duration(math.Round(begin * math.Pow(2, part/2))), true
	}
	return latenessEnd(latenessSpans - 2), true // not reached: the ranks end with the total
}
