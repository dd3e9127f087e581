package picture

import (
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Count is the outcomes in an interval.
type Count struct {
	Accepted int `json:"accepted"` // by send time, including shifted ones
	Shifted  int `json:"shifted"`  // of the accepted ones
	Refused  int `json:"refused"`  // by requested time
}

// Histogram counts outcomes. The zero value is empty.
type Histogram struct {
	counts map[int64]Count // by the number of the grain since 1970
	coarse bool
}

// Outcomes are counted by the minute while they lie in few minutes, and by the quarter of
// an hour after that. Hours and days of every time zone consist of both. The longest reach
// has some 35,000 quarters.
const (
	fineGrain   = time.Minute
	coarseGrain = 15 * time.Minute
	fineGrains  = 8192
)

func (h *Histogram) grain() time.Duration {
	if h.coarse {
		return coarseGrain
	}
	return fineGrain
}

// Add counts a new outcome. It ignores a replayed one, which is not part of the campaign.
func (h *Histogram) Add(o message.Outcome) {
	if o.SendAt.IsZero() || o.Replayed {
		return
	}
	switch {
	case o.Outcome == message.Refused:
		h.add(o.SendAt.Time, Count{Refused: 1})
	case o.Outcome == message.Accepted && o.Shifted:
		h.add(o.SendAt.Time, Count{Accepted: 1, Shifted: 1})
	case o.Outcome == message.Accepted:
		h.add(o.SendAt.Time, Count{Accepted: 1})
	}
}

func (h *Histogram) add(at time.Time, n Count) {
	if h.counts == nil {
		h.counts = make(map[int64]Count)
	}
	grain := floor(at.UnixMilli(), h.grain().Milliseconds())
	h.counts[grain] = h.counts[grain].plus(n)
	if !h.coarse && len(h.counts) > fineGrains {
		h.coarsen()
	}
}

// coarsen merges the minutes of each quarter of an hour.
func (h *Histogram) coarsen() {
	coarse := make(map[int64]Count, len(h.counts))
	for grain, n := range h.counts {
		grain = floor(grain, int64(coarseGrain/fineGrain))
		coarse[grain] = coarse[grain].plus(n)
	}
	h.counts, h.coarse = coarse, true
}

func (c Count) plus(n Count) Count {
	return Count{c.Accepted + n.Accepted, c.Shifted + n.Shifted, c.Refused + n.Refused}
}

// floor divides and rounds down, also below zero.
func floor(n, by int64) int64 {
	if n < 0 {
		return -((-n + by - 1) / by)
	}
	return n / by
}

// Bucket counts the outcomes from From to before Until.
type Bucket struct {
	From  message.Time `json:"from"`
	Until message.Time `json:"until"`
	Count
}

// Buckets are consecutive intervals.
type Buckets struct {
	// Width is the usual width of a bucket: days with a clock change differ.
	Width time.Duration
	All   []Bucket
}

// most is the largest number of buckets: it fits a screen.
const most = 32

// Buckets returns the counts in at most 32 buckets that begin at a round time in the zone;
// weeks begin on Monday. It uses the smallest width that suffices. Without outcomes there
// are no buckets.
func (h *Histogram) Buckets(zone *time.Location) Buckets {
	if len(h.counts) == 0 {
		return Buckets{}
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for grain := range h.counts {
		first, last = min(first, grain), max(last, grain)
	}
	width, starts := startsOf(h.time(first).In(zone), h.time(last))
	b := Buckets{Width: width, All: make([]Bucket, len(starts)-1)}
	for i := range b.All {
		b.All[i].From, b.All[i].Until = message.Time{Time: starts[i].UTC()}, message.Time{Time: starts[i+1].UTC()}
	}
	for grain, n := range h.counts {
		i, found := slices.BinarySearchFunc(starts, h.time(grain), time.Time.Compare)
		if !found {
			i--
		}
		b.All[i].Count = b.All[i].plus(n)
	}
	return b
}

// time returns the start of a grain.
func (h *Histogram) time(grain int64) time.Time {
	return time.UnixMilli(grain * h.grain().Milliseconds())
}
