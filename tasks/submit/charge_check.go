package submit

import (
	"cmp"
	"context"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// checked returns the reserve of a dry run: it decides like that of charged, but charges and writes
// nothing.
func (s *Submitter) checked(user string, p backend.Payer, t *sendlimit.Timeline) *chargedReserve {
	c := s.charged(user, p)
	c.holder, c.judge = heldInDryRun{s.charger.charges.StartDryRun()}, onlyChecks{t, c.rules}
	return c
}

// onlyChecks answers a Reserve like the timeline, but takes no place.
type onlyChecks struct {
	*sendlimit.Timeline

	rules *sendlimit.Rules
}

// Reserve checks a request, and whether its hold covers it, which Timeline.Check does not.
func (j onlyChecks) Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	search := r
	if !r.SearchFrom.IsZero() {
		search.At = r.SearchFrom
	}
	d, err := j.Check(ctx, search)
	if err == nil && !r.SearchFrom.IsZero() && d.Allowed && !d.Replayed {
		d.RequestedAt, d.Shifted = cmp.Or(r.At, d.Now), true
	}
	var held policy.NamedThrottle
	covers := true
	if h := r.Hold; h != nil {
		held = h.Throttle
		covers = !d.At.Before(h.From) && d.At.Before(h.Until)
	}
	switch {
	case err != nil || d.Replayed:
		return d, err
	case d.Allowed && j.rules.Throttle(r.User, r.Category) != held: // it is learned that another policy is the user's
		return sendlimit.Decision{Code: fault.CodeHoldOver, At: d.At, Now: d.Now}, nil
	case d.Allowed && covers:
		return d, nil
	case d.Allowed && !d.Shifted:
		return sendlimit.Decision{Code: fault.CodeOutsideHold, At: d.At, Now: d.Now}, nil
	case d.Allowed || !r.SearchFrom.IsZero(): // the refusal is that of the time asked for
		r.Shift, r.ByPolicy, r.WithoutFreeTimes = false, false, false
		return j.Check(ctx, r)
	}
	return d, nil
}
