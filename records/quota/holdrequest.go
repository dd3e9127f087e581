package quota

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// holdRequest requests the holds of one attempt.
type holdRequest struct {
	charges charged
	former  string // the attempt of the message's earlier charge; "" for none
	request *Request
	parts   []holdPart // that of the account first
}

// holdAll makes the holds of one attempt. If one is refused, it gives the others back.
func (c *Charges) holdAll(ctx context.Context, a holdRequest) (Charge, error) {
	token := keyspace.NewToken()
	all := a.begin(token, 0)
	for i, part := range a.parts {
		held, err := c.hold(ctx, token+part.of, []holdPart{part})
		if err != nil {
			return Charge{Notices: all.Notices}, err
		}
		if !a.add(&all, part, held[0]) {
			return all, c.unhold(ctx, a.request.Now, token, a.parts[:i], &all)
		}
	}
	return all, nil
}

// begin returns the charge of the i-th attempt of a call before its holds.
func (a holdRequest) begin(token string, i int) Charge {
	return Charge{Allowed: true, At: a.request.At, Now: a.request.Now, Hold: sendlimit.Hold{
		Account: a.request.Account.Name, Throttle: a.request.Throttle, Attempt: a.charges.attempt(token, i), Former: a.former,
		NotAfter: time.UnixMilli(script.EndOfTime).UTC(), // without a charge there is no time limit
	}}
}

// add adds the answer for one hold to the charge, and reports whether the hold was made.
func (a holdRequest) add(all *Charge, part holdPart, one Charge) bool {
	all.Notices, all.Now = append(all.Notices, one.Notices...), one.Now
	if part.of == "" {
		all.Day = one.Day
	}
	if !one.Allowed {
		all.refusedBy(one, a.request.Throttle, part.of != "")
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

// unhold gives back the holds before a refused one. Those that can't be given back become due.
func (c *Charges) unhold(ctx context.Context, now time.Time, token string, parts []holdPart, all *Charge) error {
	var calls []settleCall
	for _, part := range parts {
		calls = append(calls, settleCall{keyspace.Partition(part.Account.Name), token + part.of, letters[:1], false})
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
