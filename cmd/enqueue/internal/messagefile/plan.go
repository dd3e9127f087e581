package messagefile

import (
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
)

// Plan is what a dry run adds to a Summary: when messages would be sent.
type Plan struct {
	Zone     *time.Location // whose clock groups times; nil means UTC
	JudgedBy string         // other rules than the store's; "" means the store's
	Baseline *Counter       // counts the outcomes under the store's rules; nil for none

	times  picture.Histogram
	shifts shifts
}

func (p *Plan) add(o message.Outcome) {
	p.times.Add(o)
	if o.Outcome == message.Accepted && o.Shifted && !o.Replayed && !o.RequestedAt.IsZero() {
		p.shifts.add(o.SendAt.Sub(o.RequestedAt.Time))
	}
}

// Buckets returns the campaign over time.
func (p *Plan) Buckets() picture.Buckets {
	zone := p.Zone
	if zone == nil {
		zone = time.UTC
	}
	return p.times.Buckets(zone)
}
