package submit

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// submission is a message that is being submitted.
type submission struct {
	message  resolved
	timeline *sendlimit.Timeline
	request  sendlimit.Request
	charged  *chargedReserve // nil without a charge
	// decided is the store's decision about the request, and sent when the store was asked, by the
	// local clock; nil if it was not.
	decided *sendlimit.Decision
	sent    time.Time
}

// prepare creates the request of a message, which may replace another one, or returns an outcome or an
// error instead.
func (s *Submitter) prepare(ctx context.Context, m message.Message, replaces *sendlimit.Replacement) (*submission, message.Outcome, error) {
	m = s.message(m)
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return nil, message.Outcome{}, err
	}
	sub := &submission{message: resolve(s.Policies.Rules(), m, s.clock.OfUser(m.User).Now()), timeline: timeline}
	if sub.request, err = s.request(sub.message); err != nil {
		return nil, message.InvalidOutcome(err, m), nil
	}
	sub.request.Replace = replaces
	sub.request.Record.Trace = tracing.Reference(ctx)
	if sub.request.Share, err = s.charger.share(ctx, m.Account); err != nil {
		return nil, message.Outcome{}, err
	}
	switch {
	case m.Account != "":
		p, err := s.charger.payers.Active(ctx, m.Account)
		if err != nil {
			o, err := badAccount(err, m)
			return nil, o, err
		}
		sub.charged = s.charged(m.User, p)
	case !s.Policies.Rules().Throttle(m.User, m.Category).IsZero():
		sub.charged = s.charged(m.User, backend.Payer{})
	}
	return sub, message.Outcome{}, nil
}

// decidedOnce is a timeline that already has the answer to its first Reserve.
type decidedOnce struct {
	*sendlimit.Timeline

	first *sendlimit.Decision // nil once it was returned
}

// Reserve implements reserver.
func (t *decidedOnce) Reserve(ctx context.Context, r sendlimit.Request) (sendlimit.Decision, error) {
	if d := t.first; d != nil {
		t.first = nil
		return *d, nil
	}
	return t.Timeline.Reserve(ctx, r)
}

// complete judges a prepared message, and carries out the decision. It prepares the message again if
// its local times are those of another zone.
func (s *Submitter) complete(ctx context.Context, sub *submission) (message.Outcome, error) {
	first := true
	return untilSameZone(func() (message.Outcome, error) {
		if !first {
			again, o, err := s.prepare(ctx, sub.message.Message, sub.request.Replace)
			if again == nil {
				return o, err
			}
			sub = again
		}
		first = false
		return s.completeInZone(ctx, sub)
	})
}

// completeInZone is complete for the zone in which the message was prepared.
func (s *Submitter) completeInZone(ctx context.Context, sub *submission) (message.Outcome, error) {
	m, charged := sub.message, sub.charged
	var o message.Outcome
	var judgement judgement
	err := s.replicas.secure(ctx, sub.timeline, m.User, func(t *sendlimit.Timeline) (bool, error) {
		reserving := &decidedOnce{t, sub.decided}
		reserve := reserving.Reserve
		if charged != nil {
			charged.judge, reserve = reserving, charged.reserve
		}
		o, judgement = s.judgeRequest(ctx, m, sub.request, t, sub.sent, reserve)
		// The category has a throttle after all, or the message to replace has one.
		if code := judgement.decision.Code; charged == nil && (code == fault.CodeHoldOver || code == fault.CodeChanged) {
			charged = s.charged(m.User, backend.Payer{})
			charged.judge = t
			o, judgement = s.judgeRequest(ctx, m, sub.request, t, time.Time{}, charged.reserve)
		}
		s.enqueue(ctx, m.Message, o, judgement) // the wait for replicas is then for the task, too
		return o.Submitted(), judgement.err
	})
	if charged != nil && judgement.err == nil {
		explainCharge(&o, judgement.decision, m.Category, charged.refused, charged.payer)
		if m.Account != "" {
			o.Day = dayOf(charged.charged, charged.kept)
		}
	}
	if judgement.err == nil {
		s.count(m.Account, o)
	}
	s.Announce(ctx, judgement.decision.Notices)
	if o.Submitted() && !o.Replayed {
		s.capacity.take(judgement.content)
	}
	if err == nil {
		err = s.addLocal(ctx, &o, m)
	}
	return o, err
}
