package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// chargeTries is the maximum attempts for a change that its hold does not cover: the hour ended
// meanwhile, the store was slow, or others changed the same message.
const chargeTries = 8

// errContended returns the error after chargeTries failed tries.
func errContended(doing string) error {
	return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
		Detail: "others keep changing the same message or quota, or the store is too slow: try again in a moment",
	})
}

// repeatedAfter is the minimum duration of a change if the client library sent its command twice.
// The library does so after its own timeouts, which are all longer.
const repeatedAfter = time.Second

// mayArrive reports whether a refused change may still be made by an earlier command of the same
// call, until its hold expires.
func mayArrive(d sendlimit.Decision, took time.Duration) bool {
	return took >= repeatedAfter && !d.Allowed && d.Code != fault.CodeHoldOver
}

// reserver decides about a charged message: the timeline, or a copy of it.
type reserver interface {
	finder
	Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
	Check(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
}

// chargedReserve reserves a place for one message, charged to an account, a throttle or both.
type chargedReserve struct {
	holder

	judge   reserver
	rules   *sendlimit.Rules  // those of judge
	records *messages.Records // only read for a request that may replace a message
	// former is the pending message to replace, nil for none. The last hold takes its charge over.
	former *messages.Info
	payer  backend.Payer // without a name if there is no account
	clock  *storeclock.Clock
	asked  policy.NamedThrottle // that the last hold asked for; zero for none
	// open is the hold of a reserve that got no answer. A retry of the reserve uses it.
	open *openHold
	// refused is the charge that refused the message, if the quota or the throttle did.
	refused quota.Charge
	// charged is the charge of the last hold. kept reports whether its change was made.
	charged quota.Charge
	kept    bool
}

// dayOf returns the usage of the day's quota after a message was charged; nil without a quota. kept
// reports whether the charge stays.
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
	target

	charge quota.Charge
}

// reserve charges the account for the hour and the day of the send time, and the throttle for its
// period, and takes the place. It gives back the charge of a refused message. A shift tries one
// period after another until one has room and a free time.
func (c *chargedReserve) reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	to := targetAt(r.At, c.clock.Now())
	c.refused, c.charged, c.kept = quota.Charge{}, quota.Charge{}, false
	for tries := 0; tries < chargeTries; {
		hold, refused, err := c.hold(ctx, r, &to)
		if err != nil {
			return sendlimit.Decision{}, err
		}
		if refused.Code == fault.CodeOutsideHold && (r.At.IsZero() || refused.Now.Sub(r.At) <= policy.Grace) {
			to = targetAt(r.At, refused.Now) // the store's clock is in another hour
			tries++
			continue
		}
		if refused.Code != "" {
			next, d, err := c.chargeRefused(ctx, r, to, refused)
			if err != nil || next.at.IsZero() {
				return d, err
			}
			tries += next.triesAfter(to)
			to = next
			continue
		}
		request := r
		request.WithoutSpread = r.WithoutSpread || to.plain
		if c.shifts(r) { // the hold may be that of another try in the same window
			request.SearchFrom = to.from
		}
		if request.Hold = &hold; hold.Attempt == "" {
			request.Hold = nil // since the policy changed, nothing is charged
		}
		if c.former != nil {
			replaces := *r.Replace
			replaces.From, request.Replace = c.former.SendAt, &replaces
		}
		sent := c.clock.Local()
		d, err := c.judge.Reserve(ctx, request)
		switch {
		case err != nil && (!rules.UnknownRules(err) || mayArrive(d, c.clock.Local().Sub(sent))):
			c.open = &openHold{hold, to, c.charged}
			return d, err
		case err != nil: // nothing was done
			c.giveBack(ctx, hold)
			return d, err
		}
		if d.Allowed && !d.Replayed {
			c.kept = true
			if d.Replaced && request.Hold != nil {
				c.settleNow(ctx, hold)
			} else {
				c.settleLater(hold)
			}
			return d, nil
		}
		if request.Hold == nil && d.Code != fault.CodeHoldOver && d.Code != fault.CodeChanged {
			return d, nil
		}
		next, again := to.again(r, d)
		if !again && mayArrive(d, c.clock.Local().Sub(sent)) {
			c.leave(hold)
		} else {
			c.giveBack(ctx, hold)
		}
		if !again {
			if next, d, err = c.goOn(ctx, r, d, to); err != nil || next.at.IsZero() {
				return d, err
			}
		}
		tries += next.triesAfter(to)
		to = next
	}
	return sendlimit.Decision{}, errContended("reserving a place")
}

// isBounded reports whether a quota or a throttle may refuse a request. A nil charge never does.
func (c *chargedReserve) isBounded(r sendlimit.Request) bool {
	return c != nil && (c.payer.Tier.MessagesPerHour > 0 || c.payer.Tier.MessagesPerDay > 0 ||
		!c.rules.Throttle(r.User, r.Category).IsZero())
}

// held returns the hold for a request, nil if there is no charge.
func (h *openHold) held() *sendlimit.Hold {
	if h.Attempt == "" {
		return nil // since the policy changed
	}
	return &h.Hold
}

// holdFirst makes the hold that reserve will use first. It reports whether there is one.
func (c *chargedReserve) holdFirst(ctx context.Context, r sendlimit.Request) bool {
	to := targetAt(r.At, c.clock.Now())
	hold, refused, err := c.hold(ctx, r, &to)
	if err != nil || refused.Code != "" {
		return false
	}
	c.open = &openHold{hold, to, c.charged}
	return true
}

// giveFirstBack gives the hold of holdFirst back.
func (c *chargedReserve) giveFirstBack(ctx context.Context) {
	if hold := c.open.held(); hold != nil {
		c.giveBack(ctx, *hold)
	}
	c.open = nil
}

// hold charges the account and the throttle for a place, or returns the open hold and its place.
// Without an account and a throttle, it returns the zero Hold.
func (c *chargedReserve) hold(
	ctx context.Context, r sendlimit.Request, to *target,
) (held sendlimit.Hold, refused quota.Charge, err error) {
	if open := c.open; open != nil {
		c.open, *to, c.charged = nil, open.target, open.charge
		return open.Hold, refused, nil
	}
	c.asked = c.rules.Throttle(r.User, r.Category)
	if err := c.findFormer(ctx, r); err != nil {
		return sendlimit.Hold{}, quota.Charge{}, err
	}
	if c.payer.Account.Name == "" && c.asked.IsZero() && (c.former == nil || c.former.Hold == "") {
		return sendlimit.Hold{}, quota.Charge{}, nil
	}
	charge, err := c.Hold(ctx, quota.Request{
		Account: c.payer.Account, Tier: c.payer.Tier, Throttle: c.asked, User: r.User, ID: r.ID,
		At: to.at, Present: to.present, Info: c.former, Now: r.Now,
	})
	c.charged = charge
	if err == nil && !charge.Allowed {
		refused = charge
	}
	return charge.Hold, refused, err
}

// findFormer reads the message that a request may replace.
func (c *chargedReserve) findFormer(ctx context.Context, r sendlimit.Request) error {
	c.former = nil
	if r.Replace == nil {
		return nil
	}
	found, err := c.records.Look(ctx, r.User, r.ID)
	if err == nil && found[0].State == messages.StatePending && found[0].Account == c.payer.Account.Name {
		c.former = &found[0]
	}
	return err
}

// chargeRefused handles a message when its quota or throttle has no messages left at a place. It
// returns the next place of a shift, or the decision. Some decisions take precedence: the earlier
// answer for the id, a past or quiet time, a user who is blocked or not disturbed. A broken rule and
// a full day do not.
func (c *chargedReserve) chargeRefused(
	ctx context.Context, r sendlimit.Request, to target, refused quota.Charge,
) (next target, d sendlimit.Decision, err error) {
	d, err = c.judge.Check(ctx, r)
	first := d.Replayed || !d.Allowed && (!d.Code.Shiftable() || d.Code == fault.CodeQuietHours || d.Code == fault.CodeDoNotDisturb)
	switch {
	case err != nil:
		return target{}, d, err
	case first:
		d, err = c.free(r).complete(ctx, d)
		return target{}, d, err
	case !refused.Code.Shiftable(): // the store's clocks do not agree
		return target{}, sendlimit.Decision{}, errContended("charging an account")
	case c.rules.Throttle(r.User, r.Category) != c.asked:
		return to, d, nil // the check has found that another policy is the user's
	}
	d = chargeDecision(r.At, refused)
	d.WithoutFreeTimes = r.WithoutFreeTimes && !c.shifts(r)
	if next, d, err = c.goOn(ctx, r, d, to); next.at.IsZero() {
		c.refused = refused
	}
	return next, d, err
}

// goOn returns the next place of a shift after a refusal at a place, or completes the refusal.
func (c *chargedReserve) goOn(ctx context.Context, r sendlimit.Request, d sendlimit.Decision, to target) (target, sendlimit.Decision, error) {
	var err error
	free := c.free(r)
	if d.NextFree, err = free.next(ctx, d); err != nil {
		return target{}, d, err
	}
	if !d.NextFree.IsZero() && c.shifts(r) && (r.ShiftUntil.IsZero() || !d.NextFree.After(r.ShiftUntil)) {
		next := target{at: d.NextFree, from: d.NextFree, plain: to.plain}
		if !to.plain && !r.WithoutSpread && c.rules.Of(r.User).SpreadsShifts() {
			at, err := free.spread(ctx, r, d)
			if err != nil {
				return target{}, d, err
			}
			if next.plain = at.IsZero(); !next.plain {
				next.at, next.from = at, at
			}
		}
		return next, d, nil
	}
	d.PreviousFree, err = free.previous(ctx, d)
	return target{}, d, err
}

// shifts reports whether a request accepts another time than it asks for.
func (c *chargedReserve) shifts(r sendlimit.Request) bool {
	return r.Shift || r.ByPolicy && c.rules.Of(r.User).OnConflict == policy.Shift
}

// free returns the search for free times of a message.
func (c *chargedReserve) free(r sendlimit.Request) freeTimes {
	return freeTimes{c.holder, c.judge, c.rules, r.Category, quota.Request{
		Account: c.payer.Account, Tier: c.payer.Tier, User: r.User, ID: r.ID, Info: c.former, Now: r.Now,
	}, r.Share, nil}
}
