package deliver

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// leastOfRamp is the pace at which a ramp begins: a tenth of the full one.
const leastOfRamp = 10

// ramp slows down the first calls to a target after a time without any. Providers
// ask for that, and answer a sudden rush with errors. Each worker counts its own calls: the
// store keeps all workers together within the full pace.
type ramp struct {
	over  time.Duration // from nothing to the full pace; zero for no ramp
	began time.Time
	last  time.Time // the last call
}

// wait returns how long to wait before the next call at a rate; zero without a rate.
func (r *ramp) wait(now time.Time, full rate.Rate) time.Duration {
	if r.over <= 0 || full.Count == 0 || r.last.IsZero() || now.Sub(r.last) >= r.over {
		return 0
	}
	since := max(now.Sub(r.began), r.over/leastOfRamp)
	if since >= r.over {
		return 0
	}
	apart := float64(full.Interval) / float64(full.Count) * float64(r.over) / float64(since)
	return max(0, r.last.Add(time.Duration(apart)).Sub(now))
}

func (r *ramp) passed(now time.Time) {
	if r.last.IsZero() || now.Sub(r.last) >= r.over {
		r.began = now
	}
	r.last = now
}
