package quota

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// holdRequest asks for the holds of one attempt.
type holdRequest struct {
	attempt string
	former  string // the attempt that charged the message before; "" for none
	request Request
	parts   []holdPart // of the account first
}

// holdAll makes the holds of one attempt. If one is refused, it gives the others back.
func (c *Charges) holdAll(ctx context.Context, a holdRequest) (Charge, error) {
	all := a.begin()
	for i, part := range a.parts {
		held, err := c.hold(ctx, []holdPart{part})
		if err != nil {
			return Charge{Notices: all.Notices}, err
		}
		if !a.add(&all, part, held[0]) {
			return all, c.unhold(ctx, a.request.Now, a.parts[:i], &all)
		}
	}
	return all, nil
}

// begin returns the charge of an attempt before any of its holds is made.
func (a holdRequest) begin() Charge {
	return Charge{Allowed: true, At: a.request.At, Now: a.request.Now, Hold: sendlimit.Hold{
		Account: a.request.Account.Name, Throttle: a.request.Throttle, Attempt: a.attempt, Former: a.former,
		NotAfter: time.UnixMilli(script.EndOfTime).UTC(), // what gives nothing and takes nothing may come late
	}}
}

// add adds the answer for one hold to the charge, and reports whether it was made.
func (a holdRequest) add(all *Charge, part holdPart, one Charge) bool {
	all.Notices, all.Now = append(all.Notices, one.Notices...), one.Now
	if part.attempt == a.attempt {
		all.Day = one.Day
	}
	if !one.Allowed {
		all.refusedBy(one, a.request.Throttle, part.attempt != a.attempt)
		all.Hold = sendlimit.Hold{}
		return false
	}
	if one.Hold.NotAfter.Before(all.Hold.NotAfter) {
		all.Hold.NotAfter = one.Hold.NotAfter
	}
	if until := one.Hold.Until; !until.IsZero() && (all.Hold.Until.IsZero() || until.Before(all.Hold.Until)) {
		all.Hold.Until = until
	}
	if from := one.Hold.From; from.After(all.Hold.From) {
		all.Hold.From = from
	}
	return true
}

// unhold gives back holds that were made before another one was refused. What can't be given
// back becomes due.
func (c *Charges) unhold(ctx context.Context, now time.Time, parts []holdPart, all *Charge) error {
	var calls []settleCall
	for _, part := range parts {
		calls = append(calls, settleCall{keyspace.Partition(part.Account.Name), part.attempt, false})
		if part.chargeDay && all.Day.Used > 0 {
			all.Day.Used--
		}
	}
	if len(calls) == 0 {
		return nil
	}
	notices, err := c.settleAll(ctx, now, calls)
	all.Notices = append(all.Notices, notices...)
	return err
}
