package submit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// UserZone is the time zone of a user.
type UserZone struct {
	*time.Location

	Own bool // it is the user's own, and no default
}

// Zone returns the present time zone of a user. The error is a *fault.UnavailableError.
func (s *Submitter) Zone(ctx context.Context, user string) (UserZone, error) {
	if err := s.learnZone(ctx, user); err != nil {
		return UserZone{}, err
	}
	rules := s.Policies.Rules()
	return UserZone{rules.Zone(user), rules.HasOwnZone(user)}, nil
}

// FollowZone moves a message that keeps its local time to that time in its user's zone, if it is
// pending. Where the time is not free, has passed or is after the expiry, then decides. The outcome is
// message.Moved, also to the same instant; message.Cancelled if the message was dropped;
// message.Changed if it keeps its place; or a refusal if the message is gone, or follows no zone.
//
// If the user has another zone by now, sendlimit.ErrOtherZone is in the chain of the error.
func (s *Submitter) FollowZone(ctx context.Context, user, id string, zone UserZone, then policy.Then) (message.Outcome, error) {
	for range editTries {
		stored, of, err := s.records.Versioned(ctx, user, id)
		if err != nil {
			return message.Outcome{}, err
		}
		local := message.DecodeLocal(stored.Local)
		if stored.State != messages.StatePending || local == nil || !local.FollowZone {
			return outcomeOf(notFound(), message.Moved, user, id), nil
		}
		o, err := s.followZone(ctx, stored, of, local, zone, then)
		if err != nil || o.Code != fault.CodeEdited && o.Code != CodeElsewhere {
			return o, err
		}
	}
	return message.Outcome{}, errContended("moving a message to another time zone")
}

// followZone is FollowZone for a message of a version.
func (s *Submitter) followZone(
	ctx context.Context, m messages.Stored, of sendlimit.Version, local *message.ResolvedLocal, zone UserZone, then policy.Then,
) (message.Outcome, error) {
	read, at, expires, err := local.ReadAnew(zone.Location, zone.Own)
	if err != nil {
		return message.Outcome{}, err
	}
	edit := sendlimit.Edit{Of: of, What: []string{sendlimit.EditZone}, Local: message.EncodeLocal(read)}
	stays := edit
	if !expires.IsZero() {
		edit.What, edit.ExpiresAt = append(edit.What, sendlimit.EditExpiresAt), expires
	}
	move := func(to time.Time) (message.Outcome, error) {
		return s.move(ctx, sendlimit.MoveRequest{
			User: m.User, ID: m.ID, At: to, From: m.SendAt, Unlimited: true, Reason: messages.ReasonSettings, Edit: &edit, Zone: zone.String(),
		})
	}
	var o message.Outcome
	if at.Equal(m.SendAt) {
		o, err = s.edit(ctx, m.User, m.ID, edit, true)
	} else {
		o, err = move(at)
	}
	if err != nil || !mayGoElsewhere(o) {
		return o, err
	}
	reason := messages.ReasonSettings
	switch then {
	case policy.ThenDrop:
	case policy.ThenShift:
		if o, err = shiftFrom(o, move); err != nil || !mayGoElsewhere(o) {
			return o, err
		}
		reason = messages.ReasonNoFreeTime
	default:
		return s.edit(ctx, m.User, m.ID, stays, false)
	}
	return s.DropFrom(ctx, m.User, m.ID, m.SendAt, reason)
}

// mayGoElsewhere reports whether a pending message was refused a time.
func mayGoElsewhere(o message.Outcome) bool {
	switch o.Code {
	case "", fault.CodeNotFound, fault.CodeTooLate, fault.CodeEdited, CodeElsewhere:
		return false
	default:
		return true
	}
}

// shiftFrom moves a message to the next free time after a refused one.
func shiftFrom(refused message.Outcome, move func(time.Time) (message.Outcome, error)) (message.Outcome, error) {
	for range shiftTries {
		var to time.Time // now, if the time has passed
		switch {
		case refused.Code == fault.CodeInPast:
		case refused.Code.Shiftable() && !refused.NextFreeAt.IsZero():
			to = refused.NextFreeAt.Time
		default:
			return refused, nil
		}
		o, err := move(to)
		if err != nil || !mayGoElsewhere(o) {
			return o, err
		}
		refused = o
	}
	return refused, nil
}

// FollowZone reads the local time of a message in its user's present zone, and moves it as the user's
// settings say, see Submitter.FollowZone. The gate does not send the message before.
func FollowZone(ctx context.Context, b *backend.Backend, user, id string) error {
	own, err := settings.NewUsers(b.Client, b.Keys).Get(ctx, user)
	if err != nil {
		return err
	}
	s, err := New(b, Options{})
	if err != nil {
		return err
	}
	zone, err := s.Zone(ctx, user)
	var o message.Outcome
	if err == nil {
		o, err = s.FollowZone(ctx, user, id, zone, own.Then)
	}
	if err == nil && mayGoElsewhere(o) {
		err = fmt.Errorf("moving a message to another time zone: %s", o.Code)
	}
	return errors.Join(err, s.Close())
}
