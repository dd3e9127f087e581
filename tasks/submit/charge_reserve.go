package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// chargeTries is how often a change is tried if its hold does not cover it: the hour ended
// meanwhile, the store was slow, or others changed the same message.
const chargeTries = 8

// errContended returns the error after chargeTries failed tries.
func errContended(doing string) error {
	return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
		Detail: "others keep changing the same message or quota, or the store is too slow: try again in a moment",
	})
}

// repeatedAfter is how long a change takes at least if the client library sent its command
// twice. It does so after its own timeouts, which are all longer.
const repeatedAfter = time.Second

// mayArrive reports whether a refused change may still be made, by a command of the same
// call that is on its way. It can't once its hold is over.
func mayArrive(d sendlimit.Decision, took time.Duration) bool {
	return took >= repeatedAfter && !d.Allowed && d.Code != fault.CodeHoldOver
}

// judges decides about a charged message: the timeline, or a copy of it.
type judges interface {
	Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
	Check(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
}

// chargedReserve reserves a place for one message, charged to an account, a throttle or both.
type chargedReserve struct {
	holder

	judge judges
	rules *sendlimit.Rules // those of judge
	payer payers.Payer     // without a name if there is no account
	clock *storeclock.Clock
	asked policy.NamedThrottle // that the last hold asked for; zero for none
	// open is the hold of a reserve that got no answer. The same reserve uses it when
	// it is called again.
	open *openHold
	// refused is the charge that refused the message, if the quota or the throttle did.
	refused quota.Charge
	// charged is the charge of the last hold, and kept says whether its change was made.
	charged quota.Charge
	kept    bool
}

// dayOf returns what is used of the day's quota after a message was charged; nil without
// one. kept says whether the charge stays.
func dayOf(charge quota.Charge, kept bool) *message.DayQuota {
	if charge.Day.Counter.Limit == 0 {
		return nil
	}
	used := charge.Day.Used
	if charge.Allowed && !kept {
		used-- // it was given back
	}
	return &message.DayQuota{
		Limit: charge.Day.Counter.Limit, Used: used,
		Length: charge.Day.Until.Sub(charge.Day.From), ResetsIn: charge.Day.Until.Sub(charge.Now),
	}
}

type openHold struct {
	sendlimit.Hold
	aim
}

// reserve charges the account for the hour and the day of the send time, and the throttle
// for its period, and takes the place. The charge of a refused message is given back. A
// shift tries one period after another until one has room and a free time.
func (c *chargedReserve) reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	to := aimAt(r.At, c.clock.Now())
	c.refused, c.charged, c.kept = quota.Charge{}, quota.Charge{}, false
	for tries := 0; tries < chargeTries; {
		hold, refused, err := c.hold(ctx, r, &to)
		if err != nil {
			return sendlimit.Decision{}, err
		}
		if refused.Code == fault.CodeOutsideHold && (r.At.IsZero() || refused.Now.Sub(r.At) <= policy.Grace) {
			to = aimAt(r.At, refused.Now) // the store's clock is in another hour
			tries++
			continue
		}
		if refused.Code == fault.CodeThrottled {
			next, d, err := c.throttled(ctx, r, to, refused)
			if err != nil || next.at.IsZero() {
				return d, err
			}
			tries += next.triesAfter(to)
			to = next
			continue
		}
		if refused.Code != "" {
			return c.unlessKnown(ctx, r, refused)
		}
		request := r
		request.SearchFrom = to.from
		if request.Hold = &hold; hold.Attempt == "" {
			request.Hold = nil // since the policy changed, nothing is charged
		}
		sent := c.clock.Local()
		d, err := c.judge.Reserve(ctx, request)
		switch {
		case err != nil && (!rules.UnknownRules(err) || mayArrive(d, c.clock.Local().Sub(sent))):
			c.open = &openHold{hold, to}
			return d, err
		case err != nil: // nothing was done
			c.giveBack(ctx, hold)
			return d, err
		}
		if d.Allowed && !d.Replayed {
			c.kept = true
			c.settleLater(hold)
			return d, nil
		}
		if request.Hold == nil && d.Code != fault.CodeHoldOver {
			return d, nil
		}
		request.Shift = c.shifts(r)
		next, again := to.next(request, d, hold.Until)
		if !again && mayArrive(d, c.clock.Local().Sub(sent)) {
			c.leave(hold)
			return c.free(ctx, r, d)
		}
		c.giveBack(ctx, hold)
		if !again {
			return c.free(ctx, r, d)
		}
		tries += next.triesAfter(to)
		to = next
	}
	return sendlimit.Decision{}, errContended("reserving a place")
}

// hold charges the account and the throttle for a place, or returns the open hold and its
// place. Without both it returns the zero Hold.
func (c *chargedReserve) hold(
	ctx context.Context, r sendlimit.Request, to *aim,
) (held sendlimit.Hold, refused quota.Charge, err error) {
	if open := c.open; open != nil {
		c.open, *to = nil, open.aim
		return open.Hold, refused, nil
	}
	c.asked = c.rules.Throttle(r.User, r.Category)
	if c.payer.Account.Name == "" && c.asked.IsZero() {
		return sendlimit.Hold{}, quota.Charge{}, nil
	}
	charge, err := c.Hold(ctx, quota.Request{
		Account: c.payer.Account, Tier: c.payer.Tier, Throttle: c.asked, User: r.User, ID: r.ID,
		At: to.at, Present: to.present, Now: r.Now,
	})
	c.charged = charge
	if err == nil && !charge.Allowed {
		refused = charge
	}
	return charge.Hold, refused, err
}

// unlessKnown answers for a message whose charge was refused. Some answers come before
// the quota: the earlier answer for its id, a time that is past or in quiet hours, or a
// blocked user.
func (c *chargedReserve) unlessKnown(
	ctx context.Context, r sendlimit.Request, refused quota.Charge,
) (sendlimit.Decision, error) {
	d, err := c.judge.Check(ctx, r)
	switch {
	case err != nil:
		return d, err
	case d.Allowed && !d.Replayed, d.Code == fault.CodeSendLimit:
		if refused.Code != fault.CodeQuotaExceeded {
			return sendlimit.Decision{}, errContended("charging an account") // the store's clocks do not agree
		}
		c.refused = refused
		d = quotaDecision(refused)
		if !d.At.Equal(r.At) {
			d.RequestedAt = r.At
		}
		return d, nil
	}
	return d, nil
}

// quotaDecision returns the decision about a message whose quota is used up.
func quotaDecision(refused quota.Charge) sendlimit.Decision {
	return sendlimit.Decision{Code: refused.Code, At: refused.At, Now: refused.Now}
}
