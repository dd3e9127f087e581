package sendlimit

import (
	"context"

	"github.com/sendlimit/sendlimiter/lua"
)

// Move gives a reservation another place. The old place is kept when the new
// one is refused, and does not count against it. A move to the time where it
// stands changes nothing: At equals MovedFrom.
func (t *Timeline) Move(ctx context.Context, r MoveRequest) (Decision, error) {
	const doing = "moving a reservation"
	if err := checkUser(r.User); err != nil {
		return Decision{}, err
	}
	if err := checkID(r.ID); err != nil {
		return Decision{}, err
	}
	if err := r.Hold.check(t.records); err != nil {
		return Decision{}, err
	}
	keys := []string{t.keys.Timeline(r.User)}
	args := []any{
		milliseconds(r.Now), r.ID, milliseconds(r.At), t.rules.keep.Milliseconds(), t.reach.Milliseconds(),
		t.rules.rules, t.offsets(r.At, r.Now), t.rules.alerts,
	}
	if t.records {
		if err := checkGeneration(r.Generation); err != nil {
			return Decision{}, err
		}
		keys = append(keys, t.keys.Record(r.User, r.ID), t.keys.Watch(r.User))
		args = append(args, r.Generation, watchSuffix(r.User, r.ID), t.look.Milliseconds(), t.expire.Milliseconds())
		args = append(args, r.Hold.changeArguments(r.From)...)
	} else if r.Generation != "" {
		return Decision{}, &InvalidError{Field: "generation", Value: r.Generation, Want: "none: this timeline keeps places only"}
	}
	answer, err := run(ctx, t.client, lua.Move, doing, keys, args)
	if err != nil {
		return Decision{}, err
	}
	return t.decision(ctx, read(answer, doing), r.User, r.ID)
}

// Release gives a reservation back. With records it cancels the message: its
// content is erased at once, no task of it delivers any more, and its id is
// free; releasing it twice is allowed, and marked Replayed.
func (t *Timeline) Release(ctx context.Context, r ReleaseRequest) (Decision, error) {
	const doing = "releasing a reservation"
	if err := checkUser(r.User); err != nil {
		return Decision{}, err
	}
	if err := checkID(r.ID); err != nil {
		return Decision{}, err
	}
	if err := r.Hold.check(t.records); err != nil {
		return Decision{}, err
	}
	keys := []string{t.keys.Timeline(r.User)}
	args := []any{milliseconds(r.Now), r.ID, t.rules.keep.Milliseconds()}
	if t.records {
		keys = append(keys, t.keys.Record(r.User, r.ID), t.keys.Watch(r.User), t.keys.Ended(r.User))
		args = append(args, watchSuffix(r.User, r.ID), t.kept.Milliseconds())
		args = append(args, r.Hold.changeArguments(r.From)...)
	}
	answer, err := run(ctx, t.client, lua.Release, doing, keys, args)
	if err != nil {
		return Decision{}, err
	}
	return t.decision(ctx, read(answer, doing), r.User, "")
}
