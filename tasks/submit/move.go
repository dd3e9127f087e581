package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Move changes the send time of a message that is not being sent yet; zero means now. If the new
// time is refused, the message keeps the old one.
func (s *Submitter) Move(ctx context.Context, user, id string, at time.Time) (message.Outcome, error) {
	return s.move(ctx, sendlimit.MoveRequest{User: user, ID: id, At: at})
}

// MoveFrom is Move for an operator's own change: it moves a message only if its send time is still
// from, see runFrom, and without a limit of moves. The history of the message has the reason, "" for none.
func (s *Submitter) MoveFrom(ctx context.Context, user, id string, from, to time.Time, reason string) (message.Outcome, error) {
	return s.move(ctx, sendlimit.MoveRequest{User: user, ID: id, At: to, From: from, Unlimited: true, Reason: reason})
}

func (s *Submitter) move(ctx context.Context, r sendlimit.MoveRequest) (message.Outcome, error) {
	user, id, to := r.User, r.ID, r.At
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return message.Outcome{}, err
	}
	if full := s.capacity.refusal(ctx); full != nil {
		return s.moveInFull(ctx, timeline, r, full)
	}
	generation := keyspace.NewToken()
	var d sendlimit.Decision
	changed := s.change(user, id)
	changed.moves, changed.edit = true, r.Edit
	err = s.replicas.secure(ctx, timeline, user, func(t *sendlimit.Timeline) (bool, error) {
		var err error
		d, err = changed.runFrom(ctx, r.From, func(h *sendlimit.Hold, from time.Time) (sendlimit.Decision, error) {
			held := r
			held.Generation, held.Hold, held.From, held.Share = generation, h, from, changed.share
			return t.Move(ctx, held)
		}, changed.holdMove(to))
		return d.Allowed, err
	})
	switch {
	case !d.Allowed:
	case d.At.Equal(d.MovedFrom):
		s.enqueueAgain(ctx, user, id, d.At.Sub(d.Now), d.Now)
	default: // also if the replicas do not have it yet
		s.capacity.take(0)
		s.timers.Set(ctx, sendlimit.Timer{
			User: user, ID: id, Generation: generation, Due: d.At, Origin: changed.origin(),
		}, d.Now)
	}
	s.timers.Unset(ctx, d.Superseded, d.Now)
	s.Announce(ctx, d.Notices)
	if err == nil && changed.refused.Code == "" && d.Code.Shiftable() {
		d, err = changed.completed(ctx, d)
	}
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	if d.Code == fault.CodeInvalidField && !d.Latest.IsZero() {
		return message.InvalidOr(expiresLate(r.Edit.ExpiresAt, d.Latest), user, id)
	}
	o := outcomeOf(d, message.Moved, user, id)
	explainCharge(&o, d, changed.free().category, changed.refused, changed.payer)
	return o, s.explainEnded(ctx, &o)
}

// moveInFull answers a move while the store is too full for another task. A move or an edit that
// would be made gets the error full. Others get their usual answer.
func (s *Submitter) moveInFull(ctx context.Context, t *sendlimit.Timeline, r sendlimit.MoveRequest, full error) (message.Outcome, error) {
	d := notFound()
	changed := s.change(r.User, r.ID)
	changed.edit = r.Edit
	found, err := s.records.Look(ctx, r.User, r.ID)
	if err == nil && s.owns(found[0].Account) {
		if err = changed.stands(ctx, found[0]); err == nil {
			r.Check, r.Generation, r.Share = true, keyspace.NewToken(), changed.share
			d, err = t.Move(ctx, r)
		}
	}
	if err == nil && d.Code.Shiftable() {
		d, err = changed.completed(ctx, d)
	}
	if err != nil {
		return message.InvalidOr(err, r.User, r.ID)
	}
	edits := r.Edit != nil && len(r.Edit.What) > 0
	if d.Allowed && (edits || !d.At.Equal(d.MovedFrom)) {
		return message.Outcome{}, full
	}
	o := outcomeOf(d, message.Moved, r.User, r.ID)
	return o, s.explainEnded(ctx, &o)
}

// shiftTries bounds how often another message may take a free time between finding and taking it.
const shiftTries = 5

// MoveTo is Move with an action for conflicts. A shift goes to the next free time after the wanted
// one, where the message's own place counts as free. Each attempt is a call of the store. If no time
// is free, the message keeps its place.
func (s *Submitter) MoveTo(ctx context.Context, user, id string, m message.Move) (message.Outcome, error) {
	if err := m.Validate(); err != nil {
		return message.InvalidOr(err, user, id)
	}
	return s.moveTo(ctx, user, id, m, nil, "")
}

// moveTo is MoveTo for a valid move, together with an edit, nil for none. The times depend on the
// user's zone, "" for none.
func (s *Submitter) moveTo(
	ctx context.Context, user, id string, m message.Move, edit *sendlimit.Edit, zone string,
) (message.Outcome, error) {
	move := func(at time.Time) (message.Outcome, error) {
		return s.move(ctx, sendlimit.MoveRequest{User: user, ID: id, At: at, Edit: edit, Zone: zone})
	}
	wanted := m.At
	if m.Now {
		wanted = time.Time{}
	}
	refused, err := move(wanted)
	if m.OnConflict != message.OnConflictShift || err != nil || !refused.Code.Shiftable() {
		return refused, err
	}
	until := m.ShiftUntil
	if until.IsZero() {
		until = refused.SendAt.Add(message.DefaultShift)
	}
	next, err := s.nextSpread(ctx, user, id, refused, until)
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	for range shiftTries {
		if refused.NextFreeAt.IsZero() || next.After(until) {
			return refused, nil
		}
		o, err := move(next)
		switch {
		case err != nil:
			return o, err
		case o.Outcome == message.Moved:
			o.RequestedAt, o.Shifted = refused.SendAt, true
			return o, nil
		case o.Code.Shiftable():
			refused.NextFreeAt, next = o.NextFreeAt, o.NextFreeAt.Time
		case o.Code == fault.CodeInPast: // the free time has passed meanwhile
			next = time.Time{}
		case o.Code == fault.CodePastExpiry: // no time is free before the message expires
			return refused, nil
		default:
			return o, nil
		}
	}
	return refused, nil
}

// nextSpread returns the next free time of a refused move that shifts, with the spread of the policy
// if that leaves one.
func (s *Submitter) nextSpread(ctx context.Context, user, id string, refused message.Outcome, until time.Time) (time.Time, error) {
	next := refused.NextFreeAt.Time
	if !s.Policies.Rules().Of(user).SpreadsShifts() || next.IsZero() || next.After(until) {
		return next, nil
	}
	found, err := s.records.Look(ctx, user, id)
	if err != nil {
		return time.Time{}, err
	}
	changed := s.change(user, id)
	if err := changed.stands(ctx, found[0]); err != nil {
		return time.Time{}, err
	}
	if expires := found[0].ExpiresAt; !expires.IsZero() && !expires.After(until) {
		until = expires.Add(-time.Millisecond)
	}
	at, err := changed.free().spread(ctx, sendlimit.Request{
		User: user, ID: id, Category: found[0].Category, At: refused.SendAt.Time, ShiftUntil: until, Share: changed.share,
	}, sendlimit.Decision{At: refused.SendAt.Time})
	if err != nil || at.IsZero() {
		return next, err
	}
	return at, nil
}

// explainEnded adds the message's status to the outcome of a change that found no pending message.
func (s *Submitter) explainEnded(ctx context.Context, o *message.Outcome) error {
	if o.Code != fault.CodeNotFound {
		return nil
	}
	status, known, err := s.Status(ctx, o.User, o.ID)
	if err != nil || !known || status.EndedAt.IsZero() {
		return err
	}
	o.Detail = fmt.Sprintf("message %s to %s %s at %s: submit it again to have it sent",
		o.ID, o.User, endedBy(status), status.EndedAt.Format(message.TimeLayout))
	return nil
}

func endedBy(s message.Status) string {
	switch s.Status {
	case message.StatusCancelled:
		return "was cancelled"
	case message.StatusDropped:
		return "was dropped (" + s.Reason + ")"
	default:
		return "was given up (" + s.Reason + ")"
	}
}

// CheckMove returns the answer that Move would give, without quotas and throttles. It writes nothing.
func (s *Submitter) CheckMove(ctx context.Context, user, id string, at time.Time) (message.Outcome, error) {
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return message.Outcome{}, err
	}
	d := notFound()
	found, err := s.records.Look(ctx, user, id)
	if err == nil && s.owns(found[0].Account) {
		r := sendlimit.MoveRequest{User: user, ID: id, At: at, Check: true, Unlimited: true, Generation: keyspace.NewToken()}
		if r.Share, err = s.charger.share(ctx, found[0].Account); err == nil {
			d, err = timeline.Move(ctx, r)
		}
	}
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	return outcomeOf(d, message.Moved, user, id), nil
}
