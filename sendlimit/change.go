package sendlimit

import (
	"cmp"
	"context"

	"github.com/sendlimit/sendlimiter/lua"
)

// Move gives a reservation another place. The old place is kept when the new
// one is refused, and does not count against it. A move to the time where it
// stands changes nothing, and nothing judges it: At equals MovedFrom. With
// records, what judges is that of the message's category.
func (t *Timeline) Move(ctx context.Context, r MoveRequest) (Decision, error) {
	const doing = "moving a reservation"
	if err := checkUser(r.User); err != nil {
		return Decision{}, err
	}
	if err := checkID(r.ID); err != nil {
		return Decision{}, err
	}
	if err := r.Hold.check(t.options.Records); err != nil {
		return Decision{}, err
	}
	keys := []string{t.keys.Timeline(r.User), t.settings(r.User)}
	var recorded []any
	if t.options.Records {
		if err := checkGeneration(r.Generation); err != nil {
			return Decision{}, err
		}
		keys = append(keys, t.keys.Record(r.User, r.ID), t.keys.Watch(r.User))
		recorded = []any{r.Generation, watchSuffix(r.User, r.ID), t.options.LookAfter.Milliseconds(), t.options.ExpireAfter.Milliseconds()}
		recorded = append(recorded, r.Hold.changeArguments(r.From)...)
	} else if r.Generation != "" {
		return Decision{}, &InvalidError{Field: "generation", Value: r.Generation, Want: "none: this timeline keeps places only"}
	}
	answer, by, err := judged(ctx, t.book, r.User, doing, func(by userRules) (reply, error) {
		set, years := by.rules, cmp.Or(r.At, r.Now)
		return run(ctx, t.client, lua.Move, doing, keys, append([]any{
			milliseconds(r.Now), r.ID, milliseconds(r.At), set.keep.Milliseconds(), set.reach(t.options.Reach).Milliseconds(),
			set.rules, set.offsets(years), set.alerts, set.categories, set.quietHours(years), by.settings(),
		}, recorded...))
	})
	if err != nil {
		return Decision{}, err
	}
	return t.decision(ctx, read(answer, doing), r.User, by.rules, r.ID)
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
	if err := r.Hold.check(t.options.Records); err != nil {
		return Decision{}, err
	}
	keys := []string{t.keys.Timeline(r.User)}
	args := []any{milliseconds(r.Now), r.ID, t.book.keep.Milliseconds()}
	if t.options.Records {
		keys = append(keys, t.keys.Record(r.User, r.ID), t.keys.Watch(r.User), t.keys.Ended(r.User))
		args = append(args, watchSuffix(r.User, r.ID), t.options.KeepRecords.Milliseconds())
		args = append(args, r.Hold.changeArguments(r.From)...)
	}
	answer, err := run(ctx, t.client, lua.Release, doing, keys, args)
	if err != nil {
		return Decision{}, err
	}
	return t.decision(ctx, read(answer, doing), r.User, t.book.base, "")
}
