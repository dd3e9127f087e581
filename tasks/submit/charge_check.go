package submit

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
)

// check returns what reserve would answer, and charges nothing. It also returns the charge
// that reserve would make, or that the quota or the throttle would refuse.
func (s *Submitter) check(
	ctx context.Context, p payers.Payer, r sendlimit.Request, t *sendlimit.Timeline,
) (sendlimit.Decision, quota.Charge, error) {
	d, err := t.Check(ctx, r)
	if err != nil || d.Replayed {
		return d, quota.Charge{}, err
	}
	asked := r.At
	if asked.Before(d.Now) {
		asked = d.Now
	}
	// What comes before the quota comes before the throttle too.
	charge, full, err := s.charger.checkQuota(ctx, p, d, asked)
	if err != nil || full {
		return quotaDecision(charge), charge, err
	}
	d, refused, err := s.checkThrottle(ctx, r, t, d)
	if err != nil || refused.Code != "" || !d.Allowed || !d.Shifted {
		if refused.Code == "" {
			refused = charge
		}
		return d, refused, err
	}
	charge, full, err = s.charger.checkQuota(ctx, p, d, d.At)
	if err != nil || full {
		return quotaDecision(charge), charge, err
	}
	return d, charge, nil
}

// checkQuota returns what an account would be charged at a time for a message with this
// decision, and whether its quota refuses that.
func (c *charger) checkQuota(
	ctx context.Context, p payers.Payer, d sendlimit.Decision, at time.Time,
) (charge quota.Charge, full bool, err error) {
	if p.Account.Name == "" || !d.Allowed && d.Code != fault.CodeSendLimit {
		return quota.Charge{}, false, nil
	}
	charge, err = c.charges.Check(ctx, quota.Request{Account: p.Account, Tier: p.Tier, At: at, Now: d.Now})
	return charge, err == nil && !charge.Allowed, err
}
