package refit

import (
	"context"
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/refit"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// What a Misfit's Outcome can be, beside Moved and Cancelled.
const (
	NoFit = "misfit" // it does not fit, and nothing was done about it
	Kept  = "kept"   // it is sent as it was promised: nothing could be done about it, or nothing has to be any more
	Gone  = "gone"   // it was sent, cancelled or moved by somebody else meanwhile
)

// Misfit is a reservation that does not fit its policy, and what was done about it.
type Misfit struct {
	Outcome string `json:"outcome"`
	// Code says why it was kept: no time is free, before its expiry if it has one of
	// its own (send_limit), or what refused it.
	Code     fault.Code   `json:"code,omitempty"`
	ID       string       `json:"id"`
	User     string       `json:"user"`
	Category string       `json:"category,omitempty"`
	SendAt   message.Time `json:"send_at"`             // once moved, the new one
	From     message.Time `json:"moved_from,omitzero"` // where it did not fit
	// Breaks is what it would break: "2/calendar_day", of a category's rule
	// "marketing 2/calendar_day", or "quiet_hours", which are then in QuietHours.
	Breaks     string              `json:"breaks"`
	QuietHours *message.QuietHours `json:"quiet_hours,omitempty"`
	Detail     string              `json:"detail"` // a sentence for a person
}

func misfitOf(m refit.Misfit) Misfit {
	found := Misfit{
		Outcome: NoFit, ID: m.ID, User: m.User, Category: m.Category, SendAt: message.Time{Time: m.At}, Breaks: m.Breaks(),
		QuietHours: message.QuietHoursOf(m.Quiet),
	}
	found.Detail = fmt.Sprintf("message %s to %s at %s does not fit %s",
		m.ID, m.User, m.At.Format(message.TimeLayout), found.broken())
	return found
}

// broken names what a misfit would break, in a sentence.
func (m Misfit) broken() string {
	if m.QuietHours != nil {
		return fmt.Sprintf("the quiet hours %s (%s)", m.QuietHours.Hours, m.QuietHours.TimeZone)
	}
	return m.Breaks
}

// refitTries bounds how often a free time may be taken by somebody else in the
// moment between finding and taking it.
const refitTries = 5

// shift moves a misfit to its next free time, if there is one before the expiry that
// its caller set.
func (r *refitRun) shift(ctx context.Context, m refit.Misfit) (Misfit, error) {
	done := misfitOf(m)
	var refused message.Outcome
	for range refitTries {
		free, err := r.refit.NextFree(ctx, m)
		if err != nil {
			return done, err
		}
		if free.IsZero() {
			done.Outcome, done.Code = Kept, fault.CodeSendLimit
			done.Detail += ", and no other time is free"
			if !m.ExpiresAt.IsZero() {
				done.Detail += " before it expires at " + m.ExpiresAt.Format(message.TimeLayout)
			}
			return done, nil
		}
		o, err := r.submitter.MoveFrom(ctx, m.User, m.ID, m.At, free)
		if err != nil {
			return done, err
		}
		switch o.Code {
		case fault.CodeSendLimit, fault.CodeQuietHours, fault.CodeInPast:
			refused = o // somebody else was quicker, or the time has passed
		default:
			return done.became(o), nil
		}
	}
	return done.became(refused), nil
}

// cancel takes a misfit back.
func (r *refitRun) cancel(ctx context.Context, m refit.Misfit) (Misfit, error) {
	done := misfitOf(m)
	o, err := r.submitter.CancelFrom(ctx, m.User, m.ID, m.At)
	if err != nil {
		return done, err
	}
	return done.became(o), nil
}

// became is a misfit after a change of it had that outcome.
func (m Misfit) became(o message.Outcome) Misfit {
	switch {
	case o.Outcome == message.Moved && o.SendAt.Equal(m.SendAt.Time):
		m.Outcome = Kept
		m.Detail = fmt.Sprintf("message %s to %s at %s fits %s again: what was in the way has gone",
			m.ID, m.User, m.SendAt.Format(message.TimeLayout), m.broken())
	case o.Outcome == message.Moved:
		m.Outcome, m.From, m.SendAt = message.Moved, m.SendAt, o.SendAt
		m.Detail = fmt.Sprintf("message %s to %s does not fit %s at %s and was moved to %s", m.ID, m.User, m.broken(),
			m.From.Format(message.TimeLayout), m.SendAt.Format(message.TimeLayout))
	case o.Outcome == message.Cancelled && !o.Replayed:
		m.Outcome = message.Cancelled
		m.Detail += " and was cancelled"
	case o.OK(), o.Code == fault.CodeTooLate, o.Code == fault.CodeNotFound, o.Code == submit.CodeElsewhere:
		m.Outcome = Gone
		m.Detail = fmt.Sprintf("message %s to %s was sent, moved or cancelled meanwhile", m.ID, m.User)
	default:
		m.Outcome, m.Code = Kept, o.Code
		if o.Detail != "" {
			m.Detail += ", and stays there: " + o.Detail
		}
	}
	return m
}
