package submit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
	"github.com/sendlimit/sendlimiter/tasks/internal/payers"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// charger charges accounts for messages and keeps charges and timeline consistent, see
// package quota.
type charger struct {
	charges *quota.Charges
	payers  *payers.Payers
	settler *settler
	stats   *stats.Stats
	clock   *storeclock.Clock
	logger  *slog.Logger
}

// newCharger returns a charger; raised receives the notices that charges raise. Close its
// settler.
func newCharger(
	client redis.UniversalClient, o sendlimit.Options, clock *storeclock.Clock, raised func(context.Context, []string), logger *slog.Logger,
) (*charger, error) {
	charges, err := quota.New(client, quota.Options{Prefix: o.Prefix, LookAfter: o.LookAfter})
	if err != nil {
		return nil, err
	}
	accounts, err := accounts.New(client, o.Prefix)
	if err != nil {
		return nil, err
	}
	stats, err := stats.New(client, o.Prefix)
	if err != nil {
		return nil, err
	}
	return &charger{
		charges: charges, payers: payers.New(accounts, clock.Local), stats: stats, clock: clock, logger: logger,
		settler: newSettler(charges, stats, raised, logger),
	}, nil
}

// chargeTries is how often a change is tried if its hold does not cover it: the hour ended
// meanwhile, the store was slow, or others changed the same message.
const chargeTries = 8

// errContended returns the error after chargeTries failed tries.
func errContended(doing string) error {
	return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
		Detail: "others keep changing the same message or quota, or the store is too slow: try again in a moment",
	})
}

// holder makes and ends holds, in the store or in a dry run.
type holder interface {
	Hold(ctx context.Context, r quota.Request) (quota.Charge, error)
	NextOpen(ctx context.Context, t policy.NamedThrottle, from, until time.Time) (time.Time, error)
	// settleLater ends the hold of a change that was made, giveBack the hold of one that
	// will not be made. leave lets the relay find out which it is.
	settleLater(h sendlimit.Hold)
	giveBack(ctx context.Context, h sendlimit.Hold)
	leave(h sendlimit.Hold)
}

// Hold charges an account in the store.
func (c *charger) Hold(ctx context.Context, r quota.Request) (quota.Charge, error) {
	charge, err := c.charges.Hold(ctx, r)
	if err == nil {
		c.settler.raised(ctx, charge.Notices)
	}
	return charge, err
}

// NextOpen asks the store for the next time at which a throttle has messages left.
func (c *charger) NextOpen(ctx context.Context, t policy.NamedThrottle, from, until time.Time) (time.Time, error) {
	return c.charges.NextOpen(ctx, t, from, until)
}

func (c *charger) settleLater(h sendlimit.Hold) { c.settler.add(h) }

// giveBack gives a hold back before the caller has an answer. If it can't, the relay does.
func (c *charger) giveBack(ctx context.Context, h sendlimit.Hold) { c.settle(ctx, h, false) }

// leave does nothing: the relay settles the hold.
func (c *charger) leave(sendlimit.Hold) {}

// repeatedAfter is how long a change takes at least if the client library sent its command
// twice. It does so after its own timeouts, which are all longer.
const repeatedAfter = time.Second

// mayArrive reports whether a refused change may still be made, by a command of the same
// call that is on its way. It can't once its hold is over.
func mayArrive(d sendlimit.Decision, took time.Duration) bool {
	return took >= repeatedAfter && !d.Allowed && d.Code != fault.CodeHoldOver
}

func (c *charger) settle(ctx context.Context, h sendlimit.Hold, made bool) {
	notices, err := c.charges.Settle(ctx, time.Time{}, settlementOf(h, made))
	if err != nil {
		c.logger.WarnContext(ctx, "could not settle a charge: it will be looked after", "error", err)
	}
	c.settler.raised(ctx, notices)
}

// settlementOf returns the settlement of a hold.
func settlementOf(h sendlimit.Hold, made bool) quota.Settlement {
	return quota.Settlement{Account: h.Account, Attempt: h.Attempt, Former: h.Former, Made: made}
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

// aim is the wanted place of a message.
type aim struct {
	at      time.Time // whose hour and day are charged
	present bool      // at is now
	from    time.Time // where a shift begins to search; zero means the send time
}

// aimAt returns the wanted place for a requested time. Zero means now, and so does a time
// that is past by at most policy.Grace.
func aimAt(asked, now time.Time) aim {
	if asked.IsZero() || asked.Before(now) && now.Sub(asked) <= policy.Grace {
		return aim{at: now, present: true}
	}
	return aim{at: asked}
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

// triesAfter returns 0 if a shift went on to a later place, and else 1.
func (a aim) triesAfter(before aim) int {
	if a.from.Equal(a.at) && a.at.After(before.at) {
		return 0
	}
	return 1
}

// next returns the next place to try for a message that got none under a hold that ends at
// until. It returns again false if the decision is final.
func (a aim) next(r sendlimit.Request, d sendlimit.Decision, until time.Time) (next aim, again bool) {
	switch {
	case d.Code == fault.CodeHoldOver:
		return a, true
	case d.Code == fault.CodeOutsideHold:
		return aim{at: d.At, present: !d.At.After(d.Now), from: a.from}, true
	case d.Code == fault.CodeSendLimit && len(d.Violations) == 0: // what was in the way is gone
		return aimAt(r.At, d.Now), true
	case goesOn(r, d, a.from, until):
		return aim{at: d.NextFree, from: d.NextFree}, true
	}
	return aim{}, false
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

// goesOn reports whether a shift tries the next free time with another hold. It found none
// between from and until, which its hold covers. The next one is later, or earlier if it
// has become free meanwhile.
func goesOn(r sendlimit.Request, d sendlimit.Decision, from, until time.Time) bool {
	return takenOrQuiet(d) && r.Shift && !d.NextFree.IsZero() &&
		(d.NextFree.Before(from) || !d.NextFree.Before(until)) &&
		(r.ShiftUntil.IsZero() || !d.NextFree.After(r.ShiftUntil))
}

// takenOrQuiet reports whether a time was refused, but another one may be free.
func takenOrQuiet(d sendlimit.Decision) bool {
	return d.Code == fault.CodeSendLimit || d.Code == fault.CodeQuietHours
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

// count counts the outcome of a submit in the numbers of its account; rule is its
// rules.Policies.Label.
func (c *charger) count(p payers.Payer, o message.Outcome, rule string, now time.Time) {
	switch {
	case o.Outcome == message.Accepted && !o.Replayed:
		c.stats.Accepted(p.Account.Name, p.Zone, now)
	case o.Outcome == message.Refused && rule != "":
		c.stats.Refused(p.Account.Name, p.Zone, now, rule)
	case o.Outcome == message.Refused:
		c.stats.Refused(p.Account.Name, p.Zone, now, string(o.Code))
	default:
		return
	}
	c.settler.writeCounted()
}

// countCancelled counts a cancelled message in the numbers of its account. If the account
// can't be read, it is not counted.
func (c *charger) countCancelled(ctx context.Context, account string, now time.Time) {
	p, err := c.payers.Charged(ctx, account)
	if err != nil {
		c.logger.DebugContext(ctx, "could not count a cancelled message for the daily report", "error", err)
		return
	}
	c.stats.Cancelled(account, p.Zone, now)
	c.settler.writeCounted()
}

// badAccount returns the outcome for an account that can't be charged. Other errors stay
// errors.
func badAccount(err error, m message.Message) (message.Outcome, error) {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return message.InvalidOutcome(wrong, m), nil
	}
	return message.Outcome{}, err
}
