package picture

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Count counts the outcomes in a stretch of time.
type Count struct {
	Accepted int `json:"accepted"` // by send time, including shifted ones
	Shifted  int `json:"shifted"`  // of the accepted ones
	Refused  int `json:"refused"`  // by requested time
}

// Histogram counts outcomes. The zero value has none.
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
