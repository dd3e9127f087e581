package tasks

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
)

// RefitAction is what is done with reservations that do not fit their policy.
type RefitAction string

// The actions.
const (
	RefitKeep   RefitAction = "keep"   // they are sent as they were promised
	RefitShift  RefitAction = "shift"  // each goes to its next free time before it expires
	RefitCancel RefitAction = "cancel" // they are taken back
)

// ParseRefitAction reads an action. The error is a *sendlimit.InvalidError.
func ParseRefitAction(text string) (RefitAction, error) {
	switch a := RefitAction(text); a {
	case RefitKeep, RefitShift, RefitCancel:
		return a, nil
	default:
		return "", invalid("then", text, "%s, %s or %s", RefitKeep, RefitShift, RefitCancel)
	}
}

// codeElsewhere is of a reservation that does not stand any more where it was
// found.
const codeElsewhere fault.Code = "elsewhere"

// elsewhere is the decision about one.
func elsewhere(at time.Time) sendlimit.Decision {
	return sendlimit.Decision{Code: codeElsewhere, At: at}
}

// runFrom makes a change only of a reservation that still stands at a time; a zero
// from is any. A charged one is looked at before its change, and held to where it
// stood then.
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
	}, func(ctx context.Context, s messages.Standing) (quota.Charge, *sendlimit.Decision, error) {
		if !s.SendAt.Equal(from) {
			d := elsewhere(s.SendAt)
			return quota.Charge{}, &d, nil
		}
		return holdFor(ctx, s)
	})
}
