package quota

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
)

// Rehearsal is a dry run of many charges. It begins with what accounts are
// charged when it first asks for each, counts on in memory, and writes nothing.
// Charges.Rehearse makes one; the zero value is not usable. It is safe for
// concurrent use.
type Rehearsal struct {
	charges *Charges

	mu   sync.Mutex
	used map[string]int64 // by the counter's key
}

// Rehearse begins a dry run.
func (c *Charges) Rehearse() *Rehearsal {
	return &Rehearsal{charges: c, used: make(map[string]int64)}
}

// Hold answers what Charges.Hold would answer if all that this rehearsal held had
// been charged. Its hold is for a timeline's Rehearsal and does not expire.
func (r *Rehearsal) Hold(ctx context.Context, request Request) (Charge, error) {
	if err := checkCharge(request.Account.Name, request.User, request.ID); err != nil {
		return Charge{}, err
	}
	usage, err := r.usage(ctx, request)
	if err != nil {
		return Charge{}, err
	}
	charge := Charge{At: request.At, Now: request.Now}
	if charge.Now.IsZero() {
		if charge.Now, err = r.charges.now(ctx); err != nil {
			return Charge{}, err
		}
	}
	hour, day := usage[0], usage[1]
	if !charge.Now.Before(hour.Until) {
		charge.Code = fault.CodeOutsideHold
		return charge, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := r.keys(request.Account.Name, hour.From, day.From)
	for i, u := range []counters.Usage{hour, day} {
		u.Used = r.used[keys[i]]
		if u.Counter.Limit > 0 && u.Remaining() == 0 {
			charge.refuse(u) // of both, the day
		}
	}
	if charge.Code != "" {
		return charge, nil
	}
	for _, key := range keys {
		r.used[key]++
	}
	charge.Allowed = true
	charge.Day = day
	charge.Day.Used = r.used[keys[1]]
	charge.Hold = sendlimit.Hold{
		Account: request.Account.Name, Attempt: newAttempt(hour.From, day.From),
		NotAfter: time.UnixMilli(script.EndOfTime).UTC(), Until: hour.Until,
	}
	return charge, nil
}

// GiveBack gives back what was held.
func (r *Rehearsal) GiveBack(h sendlimit.Hold) {
	hour, day, ok := chargedBy(h.Attempt)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.keys(h.Account, hour, day) {
		r.used[key] = max(r.used[key]-1, 0)
	}
}

// usage returns the hour and the day of a request, after reading what is charged
// in them if that is not known yet.
func (r *Rehearsal) usage(ctx context.Context, request Request) ([]counters.Usage, error) {
	usage, err := r.charges.periods(request.Account, request.Tier, request.At)
	if err != nil {
		return nil, err
	}
	keys := r.keys(request.Account.Name, usage[0].From, usage[1].From)
	r.mu.Lock()
	_, hour := r.used[keys[0]]
	_, day := r.used[keys[1]]
	r.mu.Unlock()
	if hour && day {
		return usage, nil
	}
	charged, err := r.charges.Usage(ctx, request.Account, request.Tier, request.At)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, key := range keys {
		if _, known := r.used[key]; !known {
			r.used[key] = charged[i].Used
		}
	}
	return usage, nil
}

func (r *Rehearsal) keys(account string, hour, day time.Time) []string {
	return []string{r.charges.keys.Charged(account, "h", hour), r.charges.keys.Charged(account, "d", day)}
}
