package submit

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// resolved is a message whose local times are instants.
type resolved struct {
	message.Message

	zone  string                 // the user's, if the instants depend on it; else ""
	local *message.ResolvedLocal // how the send time was read; nil without a local one
	// window is the window of the message; nil for none. One that begins now begins at a fixed time.
	window *message.ResolvedWindow
	wrong  error // why the times are invalid; nil if they are valid
}

// resolve turns the local times of a message into instants, by the last known zone of its user. The
// judgement finds out whether the user has another one by now, see untilSameZone. A window without a
// begin begins now.
func resolve(rules *sendlimit.Rules, m message.Message, now time.Time) resolved {
	r := resolved{Message: m}
	r.Message, r.local, r.wrong = m.Resolve(zonesOf(rules, m.User))
	r.local = r.local.Following(rules.HasOwnZone(m.User))
	r.window = r.Message.ResolvedWindow(now.UTC().Truncate(time.Millisecond))
	if m.InZoneOfUser() {
		r.zone = rules.Zone(m.User).String()
	}
	return r
}

// zonesOf returns the zones of a user's local times.
func zonesOf(rules *sendlimit.Rules, user string) message.Zones {
	return func(word string) (*time.Location, error) {
		if word == message.ZoneUser {
			return rules.Zone(user), nil
		}
		return rules.Location(word)
	}
}

// zoneTries bounds how often local times are resolved again because the user's zone has changed.
const zoneTries = 4

// untilSameZone calls do, which resolves and judges, until both go by the same zone of the user.
func untilSameZone(do func() (message.Outcome, error)) (o message.Outcome, err error) {
	for range zoneTries {
		if o, err = do(); !errors.Is(err, sendlimit.ErrOtherZone) {
			return o, err
		}
	}
	return o, err
}

// learnZone makes the present zone of a user known, for times that nothing judges.
func (s *Submitter) learnZone(ctx context.Context, user string) error {
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return err
	}
	_, err = timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: user, Count: 1})
	return err
}

// addLocal adds to an outcome how its send time was read, and its window. A replay says how the first
// answer was.
func (s *Submitter) addLocal(ctx context.Context, o *message.Outcome, r resolved) error {
	if r.local == nil && r.window == nil || o.ID == "" {
		return nil
	}
	if o.Window = r.window; r.window == nil {
		o.Local = r.local
	}
	if !o.Replayed {
		return nil
	}
	found, err := s.records.Look(ctx, o.User, o.ID)
	if err == nil {
		o.Local, o.Window = message.DecodeLocal(found[0].Local), message.DecodeWindow(found[0].Local)
	}
	return err
}
