package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
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
const codeElsewhere sendlimit.Code = "elsewhere"

// elsewhere is the decision about one.
func elsewhere(at time.Time) sendlimit.Decision {
	return sendlimit.Decision{Code: codeElsewhere, At: at}
}

// runFrom makes a change only of a reservation that still stands at a time. A charged
// one is looked at before its change, and held to where it stood then.
func (c *chargedChange) runFrom(ctx context.Context, from time.Time, apply change, holdFor hold) (sendlimit.Decision, error) {
	return c.run(ctx, func(h *sendlimit.Hold, at time.Time) (sendlimit.Decision, error) {
		if h == nil {
			at = from
		}
		d, err := apply(h, at)
		if h == nil && d.Code == sendlimit.CodeChanged && !d.At.Equal(from) {
			return elsewhere(d.At), err
		}
		return d, err
	}, func(ctx context.Context, s sendlimit.Standing) (sendlimit.Charge, *sendlimit.Decision, error) {
		if !s.SendAt.Equal(from) {
			d := elsewhere(s.SendAt)
			return sendlimit.Charge{}, &d, nil
		}
		return holdFor(ctx, s)
	})
}

// moveFrom moves a message as Move does, if it still stands at a time.
func (s *Submitter) moveFrom(ctx context.Context, user, id string, from, to time.Time) (Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return Outcome{}, err
	}
	generation := sendlimit.NewGeneration()
	var d sendlimit.Decision
	changed := s.change(t, user, id)
	err = s.replicas.secure(ctx, t, user, func(t *sendlimit.Timeline) (bool, error) {
		var err error
		d, err = changed.runFrom(ctx, from, func(h *sendlimit.Hold, from time.Time) (sendlimit.Decision, error) {
			return t.Move(ctx, sendlimit.MoveRequest{User: user, ID: id, At: to, Generation: generation, Hold: h, From: from})
		}, changed.holdMove(to))
		return d.Allowed, err
	})
	if d.Allowed && !d.At.Equal(d.MovedFrom) {
		s.handOver(ctx, sendlimit.Queued{User: user, ID: id, Generation: generation, Due: d.At})
		s.announce(ctx, d.Notices)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("moving a message: %w", err)
	}
	o := outcomeOf(d, Moved, user, id)
	changed.payer.quota(&o, d)
	return o, nil
}

// cancelFrom cancels a message as Cancel does, if it still stands at a time.
func (s *Submitter) cancelFrom(ctx context.Context, user, id string, from time.Time) (Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return Outcome{}, err
	}
	var d sendlimit.Decision
	changed := s.change(t, user, id)
	err = s.replicas.secure(ctx, t, user, func(t *sendlimit.Timeline) (bool, error) {
		var err error
		d, err = changed.runFrom(ctx, from, func(h *sendlimit.Hold, from time.Time) (sendlimit.Decision, error) {
			return t.Release(ctx, sendlimit.ReleaseRequest{User: user, ID: id, Hold: h, From: from})
		}, changed.holdRelease)
		return d.Allowed, err
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("cancelling a message: %w", err)
	}
	return outcomeOf(d, Cancelled, user, id), nil
}
