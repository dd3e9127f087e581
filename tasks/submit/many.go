package submit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// MaxMany is how many messages SubmitMany may judge in one call of the store.
const MaxMany = sendlimit.MaxReserveMany

// SubmitMany submits messages of one user in their order, and returns the same outcomes as one
// Submit after the other. It judges as many messages as it can in one call of the store. An error
// is that of the first message without an outcome. Later messages may have been submitted or not:
// the same messages can be submitted again.
func (s *Submitter) SubmitMany(ctx context.Context, ms []message.Message) (outcomes []message.Outcome, err error) {
	together := true // until a call has decided about none: the store may know all of them
	for len(outcomes) < len(ms) {
		rest := ms[len(outcomes):]
		if together {
			var group []*oneOfMany
			group, together = s.decideMany(ctx, rest)
			if outcomes, err = s.completeMany(group, outcomes); err != nil {
				return outcomes, err
			}
			if len(group) > 0 {
				continue
			}
		}
		o, err := s.Submit(ctx, rest[0])
		if err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// completeMany adds the outcomes of messages to others. After an error, it still completes the
// messages that the store has decided about.
func (s *Submitter) completeMany(group []*oneOfMany, outcomes []message.Outcome) (_ []message.Outcome, err error) {
	for _, sub := range group {
		if err != nil && sub.decided == nil {
			break
		}
		o, failed := sub.complete()
		switch {
		case err != nil:
		case failed != nil:
			err = failed
		default:
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, err
}

// oneOfMany is a message of SubmitMany.
type oneOfMany struct {
	*submission

	complete func() (message.Outcome, error) // its submit, within its span
}

// decideMany prepares the first of some messages, those that only need a place at their time, and
// has the store decide about them. useful reports whether to call it for the next ones.
//
// Messages that a quota or a throttle limits are held one at a time: many open holds, some of which
// are given back later, could refuse other messages without need.
func (s *Submitter) decideMany(ctx context.Context, ms []message.Message) (group []*oneOfMany, useful bool) {
	if s.replicas.wanted > 0 || s.capacity.refusal(ctx) != nil {
		return nil, false
	}
	for _, m := range ms[:min(len(ms), MaxMany)] {
		sub, _, _ := s.prepare(ctx, m, nil) // Submit asks again if there is none
		if sub != nil && sub.charged.isBounded(sub.request) {
			return nil, false
		}
		if sub == nil || !s.isPlain(ctx, sub) {
			break
		}
		group = append(group, &oneOfMany{submission: sub})
	}
	if len(group) < 2 {
		return nil, true
	}
	if group = group[:holdAll(ctx, group)]; len(group) == 0 {
		return nil, false
	}
	requests := make([]sendlimit.Request, len(group))
	for i, sub := range group {
		ctx, span := s.tracer.Submit(ctx)
		sub.request.Record.Trace = tracing.Reference(ctx)
		requests[i] = sub.heldRequest()
		sub.complete = func() (message.Outcome, error) {
			o, err := s.complete(ctx, sub.submission)
			return s.ended(span, sub.message.Message, o, err)
		}
	}
	sent := s.clock.OfUser(ms[0].User).Local()
	decisions, err := group[0].timeline.ReserveMany(ctx, requests) // without an answer each is asked for again
	_, ended := errors.AsType[*messages.EndedError](err)
	if ended || errors.Is(err, sendlimit.ErrOtherZone) { // and nothing was done
		for _, sub := range group {
			if sub.charged != nil {
				sub.charged.giveFirstBack(ctx)
			}
		}
	}
	for i := range decisions {
		group[i].decided, group[i].sent = &decisions[i], sent
	}
	return group, len(decisions) > 0
}

// isPlain reports whether one call may judge a message with others.
func (s *Submitter) isPlain(ctx context.Context, sub *submission) bool {
	m, r := sub.message.Message, sub.request
	shifts := r.Shift || r.ByPolicy && s.Policies.Rules().Of(m.User).OnConflict == policy.Shift
	soon := s.clock.OfUser(m.User).Now().Add(time.Minute)
	return sub.message.wrong == nil && !m.Now && !shifts && r.At.After(soon) && !s.hasExpired(m) && len(r.Record.Content) <= smallContent &&
		s.campaigns.Check(ctx, campaignOf(m)) == nil
}

// holdAll makes the holds of messages concurrently, and returns how many of the first ones need no
// further hold. The others are charged in their turn.
func holdAll(ctx context.Context, group []*oneOfMany) int {
	refused := make([]bool, len(group))
	var holding sync.WaitGroup
	for i, sub := range group {
		if sub.charged != nil {
			holding.Go(func() { refused[i] = !sub.charged.holdFirst(ctx, sub.request) })
		}
	}
	holding.Wait()
	held := len(group)
	for i, sub := range group {
		switch {
		case refused[i]:
			held = min(held, i)
		case i > held && sub.charged != nil:
			sub.charged.giveFirstBack(ctx)
		}
	}
	return held
}

// heldRequest returns the request under the hold that was made for it.
func (sub *submission) heldRequest() sendlimit.Request {
	r := sub.request
	if sub.charged != nil {
		r.Hold = sub.charged.open.held()
	}
	return r
}
