package submit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// charger charges accounts for messages and keeps charges and timeline consistent, see
// package quota.
type charger struct {
	charges *quota.Charges
	holds   *holds
	payers  *backend.Payers
	settler *settler
	clock   *storeclock.Clocks
	logger  *slog.Logger
	// placesPerDay is how many places a user may have in a day. If there are several accounts, one
	// may have accountPlaces percent of them.
	placesPerDay, accountPlaces int
}

// newCharger returns a charger; raised receives the notices that charges cause. Close it.
func newCharger(
	client redis.UniversalClient, b *backend.Backend, raised func(context.Context, []string),
) (*charger, error) {
	o := b.Timeline
	charges, err := quota.New(client, quota.Options{Prefix: o.Prefix, LookAfter: o.LookAfter, Ahead: o.Ahead})
	if err != nil {
		return nil, err
	}
	return &charger{
		charges: charges, holds: newHolds(charges), payers: b.Payers, clock: b.Policies.Clock, logger: b.Logger,
		settler: newSettler(charges, raised, b.Logger),
	}, nil
}

// close waits for holds under way and settles the remaining charges.
func (c *charger) close() {
	c.holds.wait()
	c.settler.close()
}

// holder makes and ends holds, in the store or in a dry run.
type holder interface {
	Hold(ctx context.Context, r quota.Request) (quota.Charge, error)
	opener
	// settleLater ends the hold of a completed change, giveBack the hold of a change that will not
	// be made. leave leaves an unknown result to the relay.
	settleLater(h sendlimit.Hold)
	// settleNow is settleLater for a change that gives something back, which the caller's next
	// message can use.
	settleNow(ctx context.Context, h sendlimit.Hold)
	giveBack(ctx context.Context, h sendlimit.Hold)
	leave(h sendlimit.Hold)
}

// Hold charges an account in the store.
func (c *charger) Hold(ctx context.Context, r quota.Request) (quota.Charge, error) {
	charge, err := c.holds.hold(ctx, r)
	if err == nil {
		c.settler.raised(ctx, charge.Notices)
	}
	return charge, err
}

// NextOpen asks the store when the quota and the throttle of a message have messages left.
func (c *charger) NextOpen(ctx context.Context, r quota.Request, until time.Time) (time.Time, error) {
	return c.charges.NextOpen(ctx, r, until)
}

func (c *charger) settleLater(h sendlimit.Hold) { c.settler.add(h) }

func (c *charger) settleNow(ctx context.Context, h sendlimit.Hold) { c.settle(ctx, h, true) }

// giveBack gives a hold back before the caller gets an answer. If that fails, the relay does it.
func (c *charger) giveBack(ctx context.Context, h sendlimit.Hold) { c.settle(ctx, h, false) }

// leave does nothing: the relay settles the hold.
func (c *charger) leave(sendlimit.Hold) {}

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

// badAccount returns the outcome for an account that can't be charged. Other errors stay
// errors.
func badAccount(err error, m message.Message) (message.Outcome, error) {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return message.InvalidOutcome(wrong, m), nil
	}
	return message.Outcome{}, err
}

// share returns how many of a user's places of a day an account may have: all, if no other account
// is active.
func (c *charger) share(ctx context.Context, account string) (sendlimit.Share, error) {
	if account == "" {
		return sendlimit.Share{}, nil
	}
	share := sendlimit.Share{Account: account}
	several, err := c.payers.Several(ctx)
	if several {
		share.Places = max(1, c.placesPerDay*c.accountPlaces/percent)
	}
	return share, err
}

const percent = 100

// limitPlaces sets how many places a user may have in a day, and the percentage for one account;
// zero means the defaults.
func (c *charger) limitPlaces(perDay, accountPlaces int) {
	c.placesPerDay = cmp.Or(perDay, policy.DefaultPlacesPerDay)
	c.accountPlaces = cmp.Or(accountPlaces, policy.DefaultAccountPlaces)
}
