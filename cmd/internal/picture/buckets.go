package picture

import (
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Bucket counts the outcomes from From to before Until.
type Bucket struct {
	From  message.Time `json:"from"`
	Until message.Time `json:"until"`
	Count
}

// Buckets are consecutive stretches of time.
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
