package submit

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// judged is what judging a message leaves beside its outcome.
type judged struct {
	generation string
	content    int // bytes
	decision   sendlimit.Decision
	err        error
}

// judge puts a message to reserve, or to what stands in for it.
func (s *Submitter) judge(
	ctx context.Context, m message.Message, t *sendlimit.Timeline,
	reserve func(context.Context, sendlimit.Request) (sendlimit.Decision, error),
) (message.Outcome, judged) {
	request, err := s.request(m)
	if err != nil {
		return message.InvalidOutcome(err, m), judged{}
	}
	return s.judgeRequest(ctx, m, request, t, reserve)
}

// judgeRequest is judge of a request that is made already: one that may be put
// again is the same each time.
func (s *Submitter) judgeRequest(
	ctx context.Context, m message.Message, request sendlimit.Request, t *sendlimit.Timeline,
	reserve func(context.Context, sendlimit.Request) (sendlimit.Decision, error),
) (message.Outcome, judged) {
	// What has expired by now would never go out, and a full store takes nothing
	// more. What is known of its id is answered first all the same.
	expired := !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(s.clock.Now())
	full := s.capacity.refusal(ctx)
	if expired || full != nil {
		reserve = t.Check
	}
	sent := s.clock.Local()
	d, err := reserve(ctx, request)
	if err != nil {
		return message.Outcome{}, judged{err: err}
	}
	s.clock.Learn(sent, s.clock.Local(), d.Now)
	if expired && judgedByRules(d) {
		return message.InvalidOutcome(message.NotAllowed("expires_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano), "a time after now"), m), judged{}
	}
	if full != nil && d.Allowed && !d.Replayed {
		return message.Outcome{}, judged{err: full}
	}
	return outcomeOf(d, message.Accepted, m.User, request.ID), judged{
		generation: request.Record.Generation, content: len(request.Record.Content), decision: d,
	}
}

// judgedByRules says whether a request got as far as being judged by what holds
// for its user: its fields, its id and its time were in order.
func judgedByRules(d sendlimit.Decision) bool {
	switch d.Code {
	case "":
		return d.Allowed && !d.Replayed
	case fault.CodeBlocked, fault.CodeQuietHours, fault.CodeSendLimit:
		return true
	default:
		return false
	}
}

// request makes the timeline's request of a message. The error is a
// *sendlimit.InvalidError.
func (s *Submitter) request(m message.Message) (sendlimit.Request, error) {
	if err := m.Validate(); err != nil {
		return sendlimit.Request{}, err
	}
	mark := message.Fingerprint(m)
	content, err := message.EncodeContent(m)
	if err != nil {
		return sendlimit.Request{}, err
	}
	r := sendlimit.Request{
		User: m.User, ID: m.ID, At: m.SendAt, Category: m.Category,
		// What a message says comes before what its user's policy says.
		Shift: m.Shifts(), ByPolicy: m.OnConflict == "" && !m.Now,
		Record: &sendlimit.Record{
			Generation: keyspace.NewToken(), Fingerprint: string(mark[:]),
			ExpiresAt: m.ExpiresAt, Category: m.Category, Content: content,
		},
	}
	if r.ID == "" {
		r.ID = uuid.Must(uuid.NewV7()).String() // fails only where the system has no randomness
	}
	if m.Now {
		r.At = time.Time{}
	}
	if r.Shift || r.ByPolicy {
		r.ShiftUntil = s.shiftUntil(m)
	}
	return r, nil
}

// shiftUntil is the last send time a shift may take: what the caller set or
// the default, and before the message expires.
func (s *Submitter) shiftUntil(m message.Message) time.Time {
	until := m.ShiftUntil
	if until.IsZero() {
		from := m.SendAt
		if m.Now {
			from = s.clock.Now()
		}
		until = from.Add(message.DefaultShift)
	}
	if last := m.ExpiresAt.Add(-time.Millisecond); !m.ExpiresAt.IsZero() && last.Before(until) {
		until = last
	}
	return until
}
