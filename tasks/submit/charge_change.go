package submit

import (
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// chargedChange moves or cancels one message, and changes the charges of its account and its
// throttle, if it has any.
type chargedChange struct {
	*charger

	records  *messages.Records
	rules    *sendlimit.Rules
	timeline *sendlimit.Timeline
	account  string // the account that the message must have; "" for any
	user, id string
	moves    bool            // it is a move
	edit     *sendlimit.Edit // made together with the move; nil for none
	payer    backend.Payer   // of a move: who is charged
	charge   quota.Request   // of a move: who is charged for the message, as it stands
	share    sendlimit.Share // of a move: that of who is charged
	// open is the hold of a change that got no answer. A retry of the change uses it.
	open    *openChange
	charged string // whose charge the last change held, "" for nobody's
	// refused is the charge that refused a move, if the quota or the throttle did.
	refused quota.Charge
}

type openChange struct {
	charge quota.Charge
	from   time.Time
}

// change changes a message under a hold, nil for none. The send time of the message must still be
// from; zero means any.
type change func(h *sendlimit.Hold, from time.Time) (sendlimit.Decision, error)

// hold makes the hold of a change of a message. If that is not allowed, or no hold is needed, it
// returns the decision instead.
type hold func(ctx context.Context, s messages.Info) (quota.Charge, *sendlimit.Decision, error)

// notFound returns the answer about another account's message.
func notFound() sendlimit.Decision { return sendlimit.Decision{Code: fault.CodeNotFound} }

// run makes a change. If an account or a throttle may have been charged, it reads the message and
// makes a hold first.
func (c *chargedChange) run(ctx context.Context, apply change, holdFor hold) (sendlimit.Decision, error) {
	c.refused = quota.Charge{}
	if c.account == "" && c.open == nil {
		if d, err := apply(nil, time.Time{}); err != nil || d.Code != fault.CodeChanged {
			return d, err
		}
	}
	for range chargeTries {
		d, again, err := c.try(ctx, apply, holdFor)
		if err != nil || !again {
			return d, err
		}
	}
	return sendlimit.Decision{}, errContended("changing a message")
}

func (c *chargedChange) try(ctx context.Context, apply change, holdFor hold) (d sendlimit.Decision, again bool, err error) {
	open := c.open
	if open == nil {
		found, err := c.records.Look(ctx, c.user, c.id)
		if err != nil {
			return d, false, err
		}
		info := found[0]
		if c.account != "" && info.Account != c.account {
			return notFound(), false, nil
		}
		throttled := c.moves && !c.rules.Throttle(c.user, info.Category).IsZero()
		if info.Hold == "" && !throttled || info.State != messages.StatePending {
			d, err = apply(nil, time.Time{})
			return d, d.Code == fault.CodeChanged, err
		}
		charge, decided, err := holdFor(ctx, info)
		if err != nil {
			return d, false, err
		}
		c.settler.raised(ctx, charge.Notices)
		if decided != nil {
			return *decided, decided.Code == fault.CodeChanged, nil
		}
		open = &openChange{charge, info.SendAt}
	}
	held := open.charge.Hold
	sent := c.clock.Local()
	if d, err = apply(&held, open.from); err != nil {
		if c.open = open; rules.UnknownRules(err) && !mayArrive(d, c.clock.Local().Sub(sent)) {
			c.open = nil // nothing was done
			c.settle(ctx, held, false)
		}
		return d, false, err
	}
	c.open = nil
	// The caller's next message can use the charge that this gives back.
	made := d.Allowed && !d.Replayed && (d.MovedFrom.IsZero() || !d.At.Equal(d.MovedFrom))
	c.charged = held.Account
	if made || !mayArrive(d, c.clock.Local().Sub(sent)) {
		c.settle(ctx, held, made)
	}
	return d, d.Code == fault.CodeChanged || d.Code == fault.CodeHoldOver || d.Code == fault.CodeOutsideHold, nil
}

// holdRelease makes a hold that gives back the charge of a message.
func (c *chargedChange) holdRelease(ctx context.Context, s messages.Info) (quota.Charge, *sendlimit.Decision, error) {
	var payer backend.Payer
	if s.Account != "" {
		payer, _ = c.payers.Charged(ctx, s.Account) // while it can't be looked up, all is given back
	}
	charge, err := c.charges.HoldRelease(ctx, s, payer.Tier, time.Time{})
	if err != nil || charge.Allowed {
		return charge, nil, err
	}
	return charge, &sendlimit.Decision{Code: fault.CodeChanged}, nil
}

// holdMove returns the hold for a move to a time; zero means now.
func (c *chargedChange) holdMove(to time.Time) hold {
	return func(ctx context.Context, s messages.Info) (quota.Charge, *sendlimit.Decision, error) {
		if err := c.stands(ctx, s); err != nil {
			return quota.Charge{}, nil, err
		}
		place := targetAt(to, c.clock.OfUser(s.User).Now())
		for range chargeTries {
			request, free := c.charge, c.free()
			request.Throttle, request.At, request.Present = free.throttle(), place.at, place.present
			charge, err := c.charges.Hold(ctx, request)
			switch {
			case err != nil || charge.Allowed:
				return charge, nil, err
			case charge.Code.Shiftable():
				d, err := c.completed(ctx, chargeDecision(time.Time{}, charge))
				if err != nil || free.throttle() == request.Throttle {
					c.refused = charge
					return charge, &d, err
				}
				// The search has found that the user has another policy.
			case charge.Code == fault.CodeHoldOver:
			case to.IsZero() || charge.Now.Sub(to) <= policy.Grace:
				place = targetAt(to, charge.Now) // the store's clock is in another hour
			case to.Equal(s.SendAt) && c.edit != nil: // without a call of the script nothing is edited
				return charge, &sendlimit.Decision{Code: fault.CodeEdited, At: to, Now: charge.Now}, nil
			case to.Equal(s.SendAt):
				return charge, &sendlimit.Decision{Allowed: true, At: to, MovedFrom: to, Now: charge.Now}, nil
			default:
				return charge, &sendlimit.Decision{Code: fault.CodeInPast, At: to, Now: charge.Now}, nil
			}
		}
		return quota.Charge{}, nil, errContended("moving a message")
	}
}

// CodeElsewhere says that a reservation has moved since it was read.
const CodeElsewhere fault.Code = "elsewhere"

// elsewhere returns the decision with CodeElsewhere.
func elsewhere(at time.Time) sendlimit.Decision {
	return sendlimit.Decision{Code: CodeElsewhere, At: at}
}

// runFrom makes a change only if the reservation's time is still from; zero means any. It reads a
// charged reservation first, and the change fails if that has moved since.
func (c *chargedChange) runFrom(ctx context.Context, from time.Time, apply change, holdFor hold) (sendlimit.Decision, error) {
	if from.IsZero() {
		return c.run(ctx, apply, holdFor)
	}
	return c.run(ctx, func(h *sendlimit.Hold, at time.Time) (sendlimit.Decision, error) {
		if h == nil {
			at = from
		}
		d, err := apply(h, at)
		if h == nil && d.Code == fault.CodeChanged && !d.At.Equal(from) {
			return elsewhere(d.At), err
		}
		return d, err
	}, func(ctx context.Context, s messages.Info) (quota.Charge, *sendlimit.Decision, error) {
		if !s.SendAt.Equal(from) {
			d := elsewhere(s.SendAt)
			return quota.Charge{}, &d, nil
		}
		return holdFor(ctx, s)
	})
}

// stands notes the message to move, and its account.
func (c *chargedChange) stands(ctx context.Context, s messages.Info) error {
	c.payer = backend.Payer{}
	var err error
	if s.Account != "" {
		if c.payer, err = c.payers.Charged(ctx, s.Account); err != nil {
			return err
		}
	}
	if c.share, err = c.charger.share(ctx, s.Account); err != nil {
		return err
	}
	c.charge = quota.Request{Account: c.payer.Account, Tier: c.payer.Tier, User: c.user, ID: c.id, Info: &s}
	return nil
}

// origin returns the origin of the message, if it has an account.
func (c *chargedChange) origin() sendlimit.Origin {
	if c.charge.Info == nil {
		return sendlimit.Origin{}
	}
	return sendlimit.Origin{Account: c.charge.Info.Account, Campaign: c.charge.Info.Campaign}
}

// free returns the search for free times of the message. Its own place and charge don't count.
func (c *chargedChange) free() freeTimes {
	category := ""
	if c.charge.Info != nil {
		category = c.charge.Info.Category
	}
	return freeTimes{c.charger, c.timeline, c.rules, category, c.charge, c.share, nil}
}

// completed returns a refused move with its free times: those before the message expires.
func (c *chargedChange) completed(ctx context.Context, d sendlimit.Decision) (sendlimit.Decision, error) {
	if c.charge.Info == nil { // nobody is charged, and the rules have said all
		return d, nil
	}
	d, err := c.free().complete(ctx, d)
	expires := c.charge.Info.ExpiresAt
	if c.edit != nil && slices.Contains(c.edit.What, sendlimit.EditExpiresAt) {
		expires = c.edit.ExpiresAt
	}
	if !expires.IsZero() && !d.NextFree.Before(expires) {
		d.NextFree = time.Time{}
	}
	return d, err
}
