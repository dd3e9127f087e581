package refit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

// followWithin bounds one call of Follow. Another call continues.
const followWithin = 10 * time.Second

// maxPreviewed bounds the messages in a preview.
const maxPreviewed = 1000

var (
	errFollowed   = errors.New("another program moves or drops the messages of the user")
	errSuperseded = errors.New("the settings of the user were changed again")
)

// Preview returns the scheduled messages of a user that would not fit proposed settings, and
// changes nothing. The error is a *fault.UnavailableError.
func (r *Refitter) Preview(ctx context.Context, user string, proposed policy.UserSettings) (message.FollowThrough, error) {
	f := message.FollowThrough{Then: string(proposed.Then), Complete: true}
	misfits, err := r.misfitsOf(ctx, user, proposed, true)
	f.Affected = len(misfits)
	for _, m := range misfits[:min(len(misfits), maxPreviewed)] {
		f.Messages = append(f.Messages, misfitOf(m))
	}
	return f, err
}

// followRun is one call of Follow.
type followRun struct {
	*refitRun

	user     string
	settings policy.UserSettings
	answer   message.FollowThrough
}

// Follow does what a change of a user's settings asks for with scheduled messages, see
// policy.UserSettings.Then: it moves or drops those that do not fit the settings, and counts them
// if nothing is to be done. The settings are those that were stored, with their version.
//
// First the messages that keep their local times move to these in the user's time zone, if they were
// read in another one, also with policy.ThenKeep. Where a time is not free, Then decides: the message
// stays where it is, moves to the next free time, or is dropped.
//
// It can be stopped or killed at any time: another call for the same version continues, by any
// program, also after a call that took long and returned an answer that is not complete. It ends
// when the settings are changed again. Then one message may still be moved or dropped, as if that
// change had come a moment later. The error is a *fault.UnavailableError.
func (r *Refitter) Follow(ctx context.Context, user string, s policy.UserSettings) (message.FollowThrough, error) {
	run := &followRun{
		refitRun: &refitRun{Refitter: r, reason: messages.ReasonSettings}, user: user, settings: s,
		answer: message.FollowThrough{Then: string(s.Then)},
	}
	if !s.Follows() {
		misfits, err := r.misfitsOf(ctx, user, s, false)
		run.answer.Affected, run.answer.Complete = len(misfits), true
		return run.answer, err
	}
	key := r.keys.Turn(keyspace.FollowWork(user))
	begun, notes, err := job.Begin(ctx, turn.NewJob(r.client, key, s.Version+" "+string(s.Then)), errFollowed)
	if errors.Is(err, errFollowed) {
		return run.answer, nil
	}
	if err != nil {
		return run.answer, err
	}
	run.job = begun
	if notes != "" {
		_ = json.Unmarshal([]byte(notes), &run.answer) // else it counts from here on
	}
	err = run.all(ctx)
	switch {
	case errors.Is(err, errFollowed):
		return run.answer, nil
	case errors.Is(err, errSuperseded):
		return run.answer, begun.Done(ctx)
	case err != nil || !run.answer.Complete:
		begun.Stop(ctx, run.notes())
		return run.answer, err
	}
	return run.answer, begun.Done(ctx)
}

// notes returns the counts for the run that continues.
func (r *followRun) notes() string {
	text, _ := json.Marshal(r.answer) // can't fail for counts and texts
	return string(text)
}

// all moves or drops the misfits, as many as the time allows.
func (r *followRun) all(ctx context.Context) error {
	until := r.clock.Local().Add(followWithin)
	if err := r.current(ctx); err != nil {
		return err
	}
	var err error
	if r.finder, err = r.finderOf(ctx, r.settings, false, r.throttle); err != nil {
		return err
	}
	rezoned, others, err := r.find(ctx)
	if err != nil {
		return err
	}
	if len(rezoned) > 0 {
		if err := r.moveRezoned(ctx, rezoned, until); err != nil {
			return err
		}
		if rezoned, others, err = r.find(ctx); err != nil {
			return err
		}
	}
	if r.settings.Then.Pending() {
		err = r.each(ctx, others, until, r.one)
	}
	if err != nil || len(rezoned) > 0 || r.clock.Local().After(until) {
		return err
	}
	same, err := r.users.Complete(ctx, r.user, r.settings.Version)
	if err == nil && !same {
		err = errSuperseded
	}
	r.answer.Complete = err == nil
	return err
}

// find returns the messages to move to another time zone, and the others that do not fit, and counts
// both.
func (r *followRun) find(ctx context.Context) (rezoned, others []Misfit, err error) {
	if r.finder == nil {
		return nil, nil, nil
	}
	misfits, err := r.finder.user(ctx, r.user)
	for _, m := range misfits {
		if m.Local != nil {
			rezoned = append(rezoned, m)
		} else {
			others = append(others, m)
		}
	}
	done := r.answer.Moved + r.answer.Dropped + r.answer.Gone + r.answer.Kept
	r.answer.Affected = max(r.answer.Affected, done+len(misfits))
	return rezoned, others, err
}

// each calls do for misfits, as many as the time allows, while the settings stay.
func (r *followRun) each(ctx context.Context, misfits []Misfit, until time.Time, do func(context.Context, Misfit) error) error {
	for _, m := range misfits {
		if r.clock.Local().After(until) {
			return nil
		}
		if err := r.current(ctx); err != nil {
			return err
		}
		if err := r.throttle(ctx, func() error { return do(ctx, m) }); err != nil {
			return err
		}
	}
	return nil
}

// moveRezoned moves messages to their local times in the user's zone. Those that become later go
// last first, and the others first first: so none is in the way of another one that moves as far.
func (r *followRun) moveRezoned(ctx context.Context, misfits []Misfit, until time.Time) error {
	zone, err := r.submitter.Zone(ctx, r.user)
	if err != nil {
		return err
	}
	var later, earlier []Misfit
	for _, m := range misfits {
		_, at, _, err := m.Local.ReadAnew(zone.Location, zone.Own)
		if err == nil && at.After(m.At) {
			later = append(later, m)
		} else {
			earlier = append(earlier, m)
		}
	}
	slices.Reverse(later)
	return r.each(ctx, append(later, earlier...), until, func(ctx context.Context, m Misfit) error {
		o, err := r.submitter.FollowZone(ctx, m.User, m.ID, zone, r.settings.Then)
		switch {
		case errors.Is(err, sendlimit.ErrOtherZone):
			return errSuperseded
		case err != nil:
			return err
		case o.Outcome == message.Moved:
			r.answer.Moved++
		case o.Outcome == message.Changed:
			r.answer.Kept++
		case o.Outcome == message.Cancelled && !o.Replayed:
			r.answer.Dropped++
		default:
			r.answer.Gone++
		}
		return nil
	})
}

// current returns errSuperseded unless the settings have their version.
func (r *followRun) current(ctx context.Context) error {
	now, err := r.users.Get(ctx, r.user)
	if err == nil && (now.Version != r.settings.Version || now.Then != r.settings.Then) {
		err = errSuperseded
	}
	return err
}

// throttle keeps the turn, runs a batch, and rests.
func (r *followRun) throttle(ctx context.Context, batch func() error) error {
	if err := r.job.KeepOften(ctx, r.notes); err != nil {
		return err
	}
	return r.Refitter.throttle(ctx, batch)
}

// one moves or drops a misfit, and counts it.
func (r *followRun) one(ctx context.Context, m Misfit) error {
	reason := cmp.Or(m.Off, messages.ReasonSettings)
	if m.Off == "" && r.settings.Then == policy.ThenShift {
		done, err := r.shift(ctx, m)
		switch {
		case err != nil:
			return err
		case done.Outcome == message.Moved:
			r.answer.Moved++
			return nil
		case done.Outcome != message.MisfitKept || done.Code == "":
			r.answer.Gone++
			return nil
		}
		reason = messages.ReasonNoFreeTime
	}
	o, err := r.submitter.DropFrom(ctx, m.User, m.ID, m.At, reason)
	if err != nil {
		return err
	}
	if afterChange(misfitOf(m), o).Outcome == message.Cancelled {
		r.answer.Dropped++
	} else {
		r.answer.Gone++
	}
	return nil
}

// misfitsOf returns the scheduled messages of a user that do not fit settings, by time; none if their
// policy is not in the store. The settings are only proposed, or those in the store.
func (r *Refitter) misfitsOf(ctx context.Context, user string, s policy.UserSettings, proposed bool) ([]Misfit, error) {
	finder, err := r.finderOf(ctx, s, proposed, r.throttle)
	if finder == nil || err != nil {
		return nil, err
	}
	return finder.user(ctx, user)
}

// finderOf returns a finder for a user with these settings; nil if their policy is not in the store.
func (r *Refitter) finderOf(
	ctx context.Context, s policy.UserSettings, proposed bool, throttle func(context.Context, func() error) error,
) (*Finder, error) {
	p, found, err := r.store.Load(ctx, cmp.Or(s.Policy, r.own))
	if err != nil || !found && s.Policy != "" {
		return nil, err
	}
	if !found {
		p = policy.Default()
		p.Name = r.own
	}
	finder, err := r.finder(ctx, p, throttle)
	if err != nil {
		return nil, err
	}
	finder.follows = true
	if proposed {
		finder.proposed = &s
	}
	return finder, nil
}

// user returns the misfits of a user, by time.
func (r *Finder) user(ctx context.Context, user string) ([]Misfit, error) {
	looks, err := r.look(ctx, []*refitLook{{user: user}})
	if err == nil { // also messages that no rule counts
		var others []*refitLook
		others, err = r.look(ctx, []*refitLook{{user: user, beside: true}})
		looks = append(looks, others...)
	}
	if err != nil {
		return nil, err
	}
	var misfits []Misfit
	for _, l := range looks {
		misfits = append(misfits, l.progress.misfits...)
	}
	slices.SortStableFunc(misfits, func(a, b Misfit) int { return a.At.Compare(b.At) })
	return misfits, nil
}

// ContinueFollows continues the follow-throughs that no program is at, as after a kill. The error is
// a *fault.UnavailableError, or several.
func ContinueFollows(ctx context.Context, b *backend.Backend) error {
	users := settings.NewUsers(b.Client, b.Keys)
	for after := ""; ; {
		page, next, err := users.List(ctx, settings.ListRequest{Pending: true, After: after})
		if err == nil && len(page) > 0 {
			err = followAll(ctx, b, page)
		}
		if after = next; err != nil || after == "" {
			return err
		}
	}
}

// followAll continues the follow-throughs of users.
func followAll(ctx context.Context, b *backend.Backend, users []settings.ListedUser) error {
	r, err := New(b, Options{})
	if err != nil {
		return err
	}
	for _, u := range users {
		_, failed := r.Follow(ctx, u.User, u.Settings)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, r.Close())
}
