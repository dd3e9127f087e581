package submit

import (
	"context"
	"fmt"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// PutIf says which message must have the id of a Put.
type PutIf int

// Conditions of Put.
const (
	PutAlways     PutIf = iota // a pending message or none
	PutIfNone                  // none: the message is created
	PutIfReplaces              // a pending message, which is replaced
)

// Put submits a message, or replaces the pending message with its id by it. The new message is
// judged without the place of the former one. The outcome is message.Accepted or message.Replaced.
// The same Put again is Replayed, unless Change or Move has changed the message since. A message
// that is being sent, has reached a device, may have arrived or was delivered is not replaced.
//
// If the condition is not met, the code is CodeVersionMismatch.
func (s *Submitter) Put(ctx context.Context, m message.Message, when PutIf) (message.Outcome, error) {
	ctx, span := s.tracer.Submit(ctx)
	sub, o, err := s.prepare(ctx, m, when.replaces(s.message(m).Account))
	if sub != nil {
		o, err = s.complete(ctx, sub)
	}
	if err == nil {
		err = s.explainPut(ctx, &o, when)
	}
	return s.ended(span, m, o, err)
}

// CheckPut returns the answer that Put would give, and writes nothing.
func (s *Submitter) CheckPut(ctx context.Context, m message.Message, when PutIf) (message.Outcome, error) {
	o, err := s.check(ctx, m, when.replaces(s.message(m).Account))
	if err == nil {
		err = s.explainPut(ctx, &o, when)
	}
	return o, err
}

// replaces returns what a request of an account may replace; nil for nothing.
func (when PutIf) replaces(account string) *sendlimit.Replacement {
	if when == PutIfNone {
		return nil
	}
	return &sendlimit.Replacement{Only: when == PutIfReplaces, Account: account}
}

// explainPut completes the outcome of a Put that was refused because of the message with its id.
func (s *Submitter) explainPut(ctx context.Context, o *message.Outcome, when PutIf) error {
	switch {
	case o.Code == fault.CodeIDReused && when == PutIfNone:
		o.Code, o.Detail = fault.CodeVersionMismatch, fmt.Sprintf("there is a message %s to %s already: nothing was created", o.ID, o.User)
	case o.Code == fault.CodeNotFound && when == PutIfReplaces:
		o.Code, o.Detail = fault.CodeVersionMismatch, fmt.Sprintf("there is no pending message %s to %s: nothing was replaced", o.ID, o.User)
	case o.Code == fault.CodeTooLate:
		status, known, err := s.Status(ctx, o.User, o.ID)
		if err != nil || !known {
			return err
		}
		o.Detail = fmt.Sprintf("message %s to %s %s: use another id for another message", o.ID, o.User, becomeOf(status))
	}
	return nil
}

// becomeOf says what became of a message that can't be replaced.
func becomeOf(s message.Status) string {
	switch {
	case s.Status == message.StatusDelivered:
		return "was delivered at " + s.DeliveredAt.Format(message.TimeLayout)
	case s.Status == message.StatusUncertain:
		return "was given up, and may have arrived (" + s.Reason + ")"
	case s.Status == message.StatusSending:
		return "is being sent"
	default:
		return "may have arrived, and is tried again"
	}
}
