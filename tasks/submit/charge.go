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

// charger charges accounts for messages, so that charge and timeline stay
// together: see package quota.
type charger struct {
	charges *quota.Charges
	payers  *payers.Payers
	settler *settler
	stats   *stats.Stats
	clock   *storeclock.Clock
	logger  *slog.Logger
}

// newCharger returns what charges accounts; raised is told which notices that
// raises. Close it.
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

// chargeTries is how often a change is tried whose hold did not cover it: the
// hour ended meanwhile, the store was slow, or others changed the same message.
const chargeTries = 8

// errContended is answered when none of these tries came through.
func errContended(doing string) error {
	return fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
		Detail: "others change the same all the time, or the store is too slow: try again in a moment",
	})
}

// holder keeps holds: the store, or a dry run.
type holder interface {
	Hold(ctx context.Context, r quota.Request) (quota.Charge, error)
	// made ends the hold of a change that was made, giveBack that of one that will
	// not be. leave has whoever looks after holds find out which it is.
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

func (c *charger) settleLater(h sendlimit.Hold) { c.settler.add(h) }

// giveBack has what was held back before the caller has an answer. What it can't
// give back the relay does.
func (c *charger) giveBack(ctx context.Context, h sendlimit.Hold) { c.settle(ctx, h, false) }

// leave does nothing: the relay settles what is left.
func (c *charger) leave(sendlimit.Hold) {}

// repeatedAfter is how long a change took whose command the client library may
// have sent twice: it does so when an answer takes longer than its own timeouts,
// none of which is as short.
const repeatedAfter = time.Second

// mayArrive says whether a change that was refused may be made all the same, by a
// command of the same call that is still on its way. It is no more once the time
// of its hold is over.
func mayArrive(d sendlimit.Decision, took time.Duration) bool {
	return took >= repeatedAfter && !d.Allowed && d.Code != fault.CodeHoldOver
}

func (c *charger) settle(ctx context.Context, h sendlimit.Hold, made bool) {
	notices, err := c.charges.Settle(ctx, time.Time{}, quota.Settlement{Account: h.Account, Attempt: h.Attempt, Made: made})
	if err != nil {
		c.logger.WarnContext(ctx, "could not settle a charge: it will be looked after", "error", err)
	}
	c.settler.raised(ctx, notices)
}

// judges are what a charged message is put to: the timeline, or a copy of it.
type judges interface {
	Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
	Check(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error)
}

// chargedReserve reserves one message's place, charged to an account.
type chargedReserve struct {
	holder

	judge judges
	rules *sendlimit.Rules // that judge goes by
	payer payers.Payer
	clock *storeclock.Clock
	// open is the hold of a reserve that got no answer: the same reserve, asked
	// again, goes on with it.
	open *openHold
	// refused is the charge that refused the message, if it was the quota that did.
	refused quota.Charge
}

type openHold struct {
	sendlimit.Hold
	aim
}

// aim is the place that a message is to have.
type aim struct {
	at      time.Time // whose hour and day are charged
	present bool      // at is now
	from    time.Time // where a shift begins to search; zero for the send time
}

// aimAt is the place that a message is to have which is asked for at a time, zero
// for now: what is past by no more than the grace is taken as now, too.
func aimAt(asked, now time.Time) aim {
	if asked.IsZero() || asked.Before(now) && now.Sub(asked) <= policy.Grace {
		return aim{at: now, present: true}
	}
	return aim{at: asked}
}

// reserve charges the account for the hour and the day of the send time, and
// takes the place; what is refused is given back. A shift goes on, hour by hour,
// where the one held has no free time.
func (c *chargedReserve) reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	to := aimAt(r.At, c.clock.Now())
	c.refused = quota.Charge{}
	for range chargeTries {
		hold, refused, err := c.hold(ctx, r, &to)
		if err != nil {
			return sendlimit.Decision{}, err
		}
		if refused.Code == fault.CodeOutsideHold && (r.At.IsZero() || refused.Now.Sub(r.At) <= policy.Grace) {
			to = aimAt(r.At, refused.Now) // by the store's clock, it is another hour
			continue
		}
		if refused.Code != "" {
			return c.unlessKnown(ctx, r, refused)
		}
		request := r
		request.Hold, request.SearchFrom = &hold, to.from
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
			c.settleLater(hold)
			return d, nil
		}
		request.Shift = r.Shift || r.ByPolicy && c.rules.Of(r.User).OnConflict == policy.Shift
		next, again := to.next(request, d, hold.Until)
		if !again && mayArrive(d, c.clock.Local().Sub(sent)) {
			c.leave(hold)
			return d, nil
		}
		c.giveBack(ctx, hold)
		if !again {
			return d, nil
		}
		to = next
	}
	return sendlimit.Decision{}, errContended("reserving a place")
}

// next is where to go on for a message that got no place under a hold that ends
// at until; again is false where that was the answer.
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

// hold charges the account for a place, or goes on with the hold that is open and
// the place that it is for.
func (c *chargedReserve) hold(
	ctx context.Context, r sendlimit.Request, to *aim,
) (held sendlimit.Hold, refused quota.Charge, err error) {
	if open := c.open; open != nil {
		c.open, *to = nil, open.aim
		return open.Hold, refused, nil
	}
	charge, err := c.Hold(ctx, quota.Request{
		Account: c.payer.Account, Tier: c.payer.Tier, User: r.User, ID: r.ID, At: to.at, Present: to.present, Now: r.Now,
	})
	if err == nil && !charge.Allowed {
		refused = charge
	}
	return charge.Hold, refused, err
}

// goesOn says whether a shift that found no free time from one time until another,
// which its hold covers, takes the next one, with another hold: a later one, or
// an earlier one that has become free meanwhile.
func goesOn(r sendlimit.Request, d sendlimit.Decision, from, until time.Time) bool {
	return takenOrQuiet(d) && r.Shift && !d.NextFree.IsZero() &&
		(d.NextFree.Before(from) || !d.NextFree.Before(until)) &&
		(r.ShiftUntil.IsZero() || !d.NextFree.After(r.ShiftUntil))
}

// takenOrQuiet says whether a time was refused that another may be free in place
// of.
func takenOrQuiet(d sendlimit.Decision) bool {
	return d.Code == fault.CodeSendLimit || d.Code == fault.CodeQuietHours
}

// unlessKnown answers for a message that is not charged, with what comes before
// the quota: what was said of its id before, that its time is past or in quiet
// hours, or that its user is blocked.
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

// quotaDecision is the decision about a message whose quota is used up.
func quotaDecision(refused quota.Charge) sendlimit.Decision {
	return sendlimit.Decision{Code: refused.Code, At: refused.At, Now: refused.Now}
}

// check says what reserve would answer, and charges nothing. Where it is the quota
// that refuses, it returns the charge as well.
func (c *charger) check(
	ctx context.Context, p payers.Payer, r sendlimit.Request, t *sendlimit.Timeline,
) (sendlimit.Decision, quota.Charge, error) {
	d, err := t.Check(ctx, r)
	if err != nil || (!d.Allowed || d.Replayed) && d.Code != fault.CodeSendLimit {
		return d, quota.Charge{}, err
	}
	asked := r.At
	if asked.Before(d.Now) {
		asked = d.Now
	}
	times := []time.Time{asked}
	if d.Allowed && d.Shifted {
		times = append(times, d.At)
	}
	for _, at := range times {
		charge, err := c.charges.Check(ctx, quota.Request{Account: p.Account, Tier: p.Tier, At: at, Now: d.Now})
		if err != nil {
			return sendlimit.Decision{}, quota.Charge{}, err
		}
		if !charge.Allowed {
			return quotaDecision(charge), charge, nil
		}
	}
	return d, quota.Charge{}, nil
}

// count counts what a submit came to in the numbers of its account; rule is what
// rules.label says of it.
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

// badAccount makes an outcome of an account that can't be charged; other errors
// stay errors.
func badAccount(err error, m message.Message) (message.Outcome, error) {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return message.InvalidOutcome(wrong, m), nil
	}
	return message.Outcome{}, err
}
