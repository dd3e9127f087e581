// Package histogram counts the outcomes of a campaign over time: how many
// messages would be sent when, and how many are refused. Its memory is bounded,
// and what span it is about need not be known beforehand.
package histogram

import (
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Count is how many outcomes there are in some stretch of time.
type Count struct {
	Accepted int `json:"accepted"` // by their send times; shifted ones included
	Shifted  int `json:"shifted"`  // of those accepted
	Refused  int `json:"refused"`  // by the time that was asked for
}

// Histogram counts outcomes. The zero value has none.
type Histogram struct {
	counts map[int64]Count // by the number of their grain since 1970
	coarse bool
}

// Outcomes are counted by the minute, as long as they are in few of them, and
// by quarters of an hour after that. Both make up the hours and days of every
// time zone, and of the second there are some 35,000 in the longest reach of
// schedules.
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

// Add counts an outcome that is new: one that was accepted before is no part of
// the campaign any more.
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

// coarsen puts the minutes of each quarter of an hour together.
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

// floor divides, and rounds down also below zero.
func floor(n, by int64) int64 {
	if n < 0 {
		return -((-n + by - 1) / by)
	}
	return n / by
}
