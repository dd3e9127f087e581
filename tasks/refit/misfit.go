package refit

import (
	"context"
	"fmt"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

func misfitOf(m Misfit) message.Misfit {
	found := message.Misfit{
		Outcome: message.MisfitFound, ID: m.ID, User: m.User, Category: m.Category, SendAt: message.Time{Time: m.At}, Breaks: m.Breaks(),
		QuietHours: message.QuietHoursOf(m.Quiet),
	}
	found.Detail = fmt.Sprintf("message %s to %s at %s does not fit %s",
		m.ID, m.User, m.At.Format(message.TimeLayout), broken(found))
	return found
}

// broken names the broken rule in a sentence.
func broken(m message.Misfit) string {
	switch m.Breaks {
	case messages.ReasonBlocked:
		return "a blocked user"
	case messages.ReasonOptedOut:
		return "the opt-outs of the user"
	case sendlimit.EditZone:
		return "the time zone of the user"
	}
	if m.QuietHours != nil {
		return fmt.Sprintf("the quiet hours %s (%s)", m.QuietHours.Hours, m.QuietHours.TimeZone)
	}
	return m.Breaks
}

// refitTries bounds the tries to move a misfit: somebody else may take a free time first.
const refitTries = 5

// shift moves a misfit to its next free time, if there is one before its expiry.
func (r *refitRun) shift(ctx context.Context, m Misfit) (message.Misfit, error) {
	done := misfitOf(m)
	free, err := r.finder.NextFree(ctx, m)
	var refused message.Outcome
	for range refitTries {
		if err != nil {
			return done, err
		}
		if free.IsZero() || !m.ExpiresAt.IsZero() && !free.Before(m.ExpiresAt) {
			done.Outcome, done.Code = message.MisfitKept, fault.CodeSendLimit
			done.Detail += ", and no other time is free"
			if !m.ExpiresAt.IsZero() {
				done.Detail += " before it expires at " + m.ExpiresAt.Format(message.TimeLayout)
			}
			return done, nil
		}
		if refused, err = r.submitter.MoveFrom(ctx, m.User, m.ID, m.At, free, r.reason); err != nil {
			return done, err
		}
		switch {
		case refused.Code.Shiftable(): // somebody else was quicker, or the time is free for this policy's rules only
			free = refused.NextFreeAt.Time
		case refused.Code == fault.CodeInPast:
			free, err = r.finder.NextFree(ctx, m)
		default:
			return afterChange(done, refused), nil
		}
	}
	return afterChange(done, refused), nil
}

func (r *refitRun) cancel(ctx context.Context, m Misfit) (message.Misfit, error) {
	done := misfitOf(m)
	o, err := r.submitter.CancelFrom(ctx, m.User, m.ID, m.At)
	if err != nil {
		return done, err
	}
	return afterChange(done, o), nil
}

// afterChange returns a misfit with the outcome of its change.
func afterChange(m message.Misfit, o message.Outcome) message.Misfit {
	switch {
	case o.Outcome == message.Moved && o.SendAt.Equal(m.SendAt.Time):
		m.Outcome = message.MisfitKept
		m.Detail = fmt.Sprintf("message %s to %s at %s fits %s again: what was in the way has gone",
			m.ID, m.User, m.SendAt.Format(message.TimeLayout), broken(m))
	case o.Outcome == message.Moved:
		m.Outcome, m.MovedFrom, m.SendAt = message.Moved, m.SendAt, o.SendAt
		m.Detail = fmt.Sprintf("message %s to %s does not fit %s at %s and was moved to %s", m.ID, m.User, broken(m),
			m.MovedFrom.Format(message.TimeLayout), m.SendAt.Format(message.TimeLayout))
	case o.Outcome == message.Cancelled && !o.Replayed:
		m.Outcome = message.Cancelled
		m.Detail += " and was cancelled"
	case o.OK(), o.Code == fault.CodeTooLate, o.Code == fault.CodeNotFound, o.Code == submit.CodeElsewhere:
		m.Outcome = message.MisfitGone
		m.Detail = fmt.Sprintf("message %s to %s was sent, moved or cancelled meanwhile", m.ID, m.User)
	default:
		m.Outcome, m.Code = message.MisfitKept, o.Code
		if o.Detail != "" {
			m.Detail += ", and stays there: " + o.Detail
		}
	}
	return m
}
