package messagefile

import (
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
)

// Plan is the part of a Summary that a dry run adds: when messages would be sent.
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

// Baseline counts the outcomes of a file under the store's rules, beside other rules. It has only
// lines that were judged.
type Baseline struct {
	Accepted      int            `json:"accepted"` // new ones, including shifted
	Replayed      int            `json:"replayed"`
	Shifted       int            `json:"shifted"`
	Refused       int            `json:"refused"`
	RefusedByRule map[string]int `json:"refused_by_rule"`
	RefusedByCode map[string]int `json:"refused_by_code,omitempty"`
	ShiftedBy     *ShiftedBy     `json:"shifted_by_seconds,omitempty"`
}

// Counter counts outcomes for a Baseline. It is safe for concurrent use. The zero value is empty.
type Counter struct {
	mu      sync.Mutex
	summary Summary
}

// Add counts an outcome.
func (c *Counter) Add(o message.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.summary.Plan == nil {
		c.summary.Plan = new(Plan)
	}
	c.summary.Add(o)
}

// finish returns the counts; nil for a nil Counter.
func (c *Counter) finish() *Baseline {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summary.Finish(0, 0)
	s := &c.summary
	return &Baseline{
		Accepted: s.Accepted, Replayed: s.Replayed, Shifted: s.Shifted, Refused: s.Refused,
		RefusedByRule: s.RefusedByRule, RefusedByCode: s.RefusedByCode, ShiftedBy: s.ShiftedBy,
	}
}
