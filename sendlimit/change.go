package sendlimit

import (
	"cmp"
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Move gives a reservation another place. The old place does not count against the new one, and is
// kept if the move is refused. A move to the present time changes nothing and is not judged: At
// equals MovedFrom. With records, the rules of the message's category apply. If the category has a
// throttle, the move needs a Hold with it. A message that was moved Options.MovesPerMinute times in
// a minute stays where it is until the minute is over; the code is CodeRateLimited. The code is
// CodeTooLate if a delivery at the present place may have arrived.
func (t *Timeline) Move(ctx context.Context, r MoveRequest) (Decision, error) {
	const doing = "moving a reservation"
	if err := keyspace.CheckMessage(r.User, r.ID); err != nil {
		return Decision{}, err
	}
	if err := r.Hold.check(t.options.Records); err != nil {
		return Decision{}, err
	}
	if err := t.options.checkShare(r.Share); err != nil {
		return Decision{}, err
	}
	book, err := t.book()
	if err != nil {
		return Decision{}, err
	}
	keys := []string{t.keys.Timeline(r.User), t.settings(r.User)}
	var recorded []any
	if t.options.Records {
		if err := keyspace.CheckToken("generation", r.Generation); err != nil {
			return Decision{}, err
		}
		keys = append(keys, t.keys.Record(r.User, r.ID))
		recorded = []any{r.Generation, keyspace.WatchWord(r.User, r.ID), t.delays, r.Hold.held(), script.Milliseconds(r.From)}
	} else if r.Generation != "" {
		return Decision{}, &fault.InvalidError{Field: "generation", Value: r.Generation, Want: "none: this timeline keeps places only"}
	} else if r.Edit != nil {
		return Decision{}, &fault.InvalidError{Field: "edit", Value: r.ID, Want: "none: this timeline keeps places only"}
	} else if r.Check {
		return Decision{}, &fault.InvalidError{Field: "check", Value: "true", Want: "false: this timeline keeps places only"}
	}
	edit, err := r.Edit.arguments()
	if err != nil {
		return Decision{}, err
	}
	call := judge.Call{Client: t.client, Script: lua.Move, Doing: doing, User: r.User, Zone: r.Zone, At: func(judge.UserRules) time.Time { return cmp.Or(r.At, r.Now) }}
	answer, by, err := book.Run(ctx, call, func(by judge.UserRules) ([]string, []any) {
		about := t.about(r.Now, r.At, nil)
		about.Share = r.Share
		args := by.Arguments(about, 7+len(recorded)+len(edit))
		args = append(append(args, r.ID, script.Milliseconds(r.At)), recorded...)
		if len(recorded) > 0 {
			args = append(args, by.Rules.Throttled(r.Hold.throttle()), r.most(t.options), script.Flag(r.Check), t.subscribers().Argument())
			args = append(args, edit...)
		}
		return keys, args
	})
	if err != nil {
		return Decision{}, err
	}
	t.subscribers().Note(r.User)
	return t.decision(ctx, script.Read(answer, doing), Request{User: r.User, Share: r.Share}, by, r.ID)
}

// most returns how many moves a minute the message may make; for any number, the reason of the move.
func (r MoveRequest) most(o Options) any {
	if r.Unlimited {
		return r.Reason
	}
	return o.MovesPerMinute
}

// subscribers returns who gets events of changes; nil for a dry run, which reports none.
func (t *Timeline) subscribers() *Subscribers {
	if t.copyOf != nil {
		return nil
	}
	return t.options.Subscribers
}

// Release gives a reservation back. With records it cancels the message: its content is erased at
// once, no task can deliver it any more, and its id is free. A second release is allowed, and
// marked Replayed. A message that may have arrived is not sent again, and its place counts until
// the rules forget it.
func (t *Timeline) Release(ctx context.Context, r ReleaseRequest) (Decision, error) {
	const doing = "releasing a reservation"
	if err := keyspace.CheckMessage(r.User, r.ID); err != nil {
		return Decision{}, err
	}
	if err := r.Hold.check(t.options.Records); err != nil {
		return Decision{}, err
	}
	book, err := t.book()
	if err != nil {
		return Decision{}, err
	}
	keys := []string{t.keys.Timeline(r.User)}
	args := []any{script.Milliseconds(r.Now), r.ID, book.Keep.Milliseconds()}
	if t.options.Records {
		keys = append(keys, t.keys.Record(r.User, r.ID), t.keys.Ended(r.User))
		args = append(args, keyspace.WatchWord(r.User, r.ID), t.options.KeepRecords.Milliseconds(),
			r.Hold.held(), script.Milliseconds(r.From), t.subscribers().Argument(), r.Dropped)
	}
	answer, err := script.Run(ctx, t.client, lua.Release, doing, keys, args)
	if err != nil {
		return Decision{}, err
	}
	t.subscribers().Note(r.User)
	return t.decision(ctx, script.Read(answer, doing), Request{User: r.User}, judge.UserRules{Rules: book.Base, Book: book}, r.ID)
}
