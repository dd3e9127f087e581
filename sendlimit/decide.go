package sendlimit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const (
	flagShifted  = 1
	flagReplayed = 2
)

// decide makes a decision of what call replies, calling again as long as the
// search for a free time goes on.
func (t *Timeline) decide(
	ctx context.Context, r Request, doing string, call func(by judge.UserRules, resume any) (script.Reply, error),
) (Decision, error) {
	cursor := judge.SearchCursor{Begin: ""}
	for {
		answer, by, err := judge.Judged(ctx, t.Book, r.User, doing, func(by judge.UserRules) (script.Reply, error) {
			return call(by, cursor.Under(by))
		})
		if err != nil {
			return Decision{}, err
		}
		in := script.Read(answer, doing)
		if len(answer) == 1 { // the plain acceptance: now alone
			return Decision{Allowed: true, At: r.At.UTC().Truncate(time.Millisecond), Now: in.Time(0)}, in.Err
		}
		if in.Int(0) != judge.StatusSearchOn {
			return t.decision(ctx, in, r.User, by.Rules, "")
		}
		next := in.Int(2)
		if in.Err != nil {
			return Decision{}, in.Err
		}
		if err := cursor.GoOn(doing, by, next); err != nil {
			return Decision{}, err
		}
	}
}

// decision turns a reply, given by a user's rules, into a Decision. self is the
// reservation that does not count when a search goes on.
func (t *Timeline) decision(ctx context.Context, in *script.ReplyReader, user string, by *judge.Ruleset, self string) (Decision, error) {
	status := in.Int(0)
	d := Decision{Now: in.Time(1), At: in.Time(2)}
	d.RequestedAt = in.Time(3)
	switch status {
	case judge.StatusAllowed:
		flags := in.Int(4)
		d.Allowed = true
		d.Shifted, d.Replayed = flags&flagShifted != 0, flags&flagReplayed != 0
		d.MovedFrom = in.Time(5)
		d.Notices = in.Strings(6)
	case judge.StatusSendLimit:
		d.Code = fault.CodeSendLimit
		return t.refusal(ctx, in, d, user, by, self)
	case judge.StatusQuietHours:
		d.Code, d.Quiet = fault.CodeQuietHours, by.QuietPeriod(d.At)
		if d.Quiet == nil && in.Err == nil { // as with a clock that is years off
			return Decision{}, script.ReplyError(in.Doing, "quiet hours that there are not")
		}
		return t.refusal(ctx, in, d, user, by, self)
	case judge.StatusBlocked:
		d.Code = fault.CodeBlocked
	case judge.StatusIDReused:
		d.Code = fault.CodeIDReused
	case judge.StatusTooLate:
		d.Code = fault.CodeTooLate
	case judge.StatusNotFound:
		d.Code = fault.CodeNotFound
	case judge.StatusInPast:
		d.Code = fault.CodeInPast
	case judge.StatusTooFarAhead:
		d.Code = fault.CodeTooFarAhead
	case judge.StatusPastExpiry:
		d.Code = fault.CodePastExpiry
		d.ExpiresAt = in.Time(4)
	case judge.StatusHoldOver:
		d.Code = fault.CodeHoldOver
	case judge.StatusOutsideHold:
		d.Code = fault.CodeOutsideHold
	case judge.StatusChanged:
		d.Code = fault.CodeChanged
	default:
		return Decision{}, script.ReplyError(in.Doing, fmt.Sprintf("status %d", status))
	}
	return d, in.Err
}

func (t *Timeline) refusal(ctx context.Context, in *script.ReplyReader, d Decision, user string, by *judge.Ruleset, self string) (Decision, error) {
	d.NextFree, d.PreviousFree = in.Time(4), in.Time(6)
	category := in.String(8)
	judge := by.Scope(category)
	for i := 9; i < len(in.Reply); i++ {
		v, err := violation(judge, in.Nested(i))
		if err != nil {
			return Decision{}, err
		}
		d.Violations = append(d.Violations, v)
	}
	if in.Err != nil {
		return Decision{}, in.Err
	}
	on := NextFreeRequest{User: user, Category: category, Count: 1, Now: d.Now}
	var err error
	if on.From = in.Time(5); !on.From.IsZero() {
		if d.NextFree, err = t.searchOn(ctx, on, self, 1); err != nil {
			return Decision{}, err
		}
	}
	if on.From = in.Time(7); !on.From.IsZero() {
		if d.PreviousFree, err = t.searchOn(ctx, on, self, -1); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

func violation(c *judge.Scope, in *script.ReplyReader) (Violation, error) {
	number := int(in.Int(0))
	if in.Err == nil && (number < 1 || number > c.Count()) {
		return Violation{}, script.ReplyError(in.Doing, fmt.Sprintf("rule %d", number))
	}
	v := Violation{ConflictsTotal: int(in.Int(1)), From: in.Time(2), Until: in.Time(3), Conflicts: reservations(in, 4)}
	if in.Err != nil {
		return Violation{}, in.Err
	}
	v.Rule, v.Category = c.Rule(number)
	return v, nil
}

// searchOn goes on with a search that one call did not finish.
func (t *Timeline) searchOn(ctx context.Context, r NextFreeRequest, self string, direction int) (time.Time, error) {
	times, _, err := t.Search(ctx, r, self, direction)
	if err != nil || len(times) == 0 {
		return time.Time{}, err
	}
	return times[0], nil
}

// nextFree calls lua.NextFree until it has what was asked for. It returns what the
// times were judged by, too.
func (t *Timeline) Search(
	ctx context.Context, r NextFreeRequest, self string, direction int,
) (times []time.Time, by judge.UserRules, err error) {
	const doing = "looking for free times"
	cursor := judge.SearchCursor{Begin: script.Milliseconds(r.From)}
	var taken []string
	for {
		var answer script.Reply
		answer, by, err = judge.Judged(ctx, t.Book, r.User, doing, func(by judge.UserRules) (script.Reply, error) {
			from, found, before := cursor.Under(by), len(times), strings.Join(taken, " ")
			if cursor.Anew() {
				found, before = 0, ""
			}
			judge, years := by.Rules.Scope(r.Category), r.years()
			return script.Run(ctx, t.Client, lua.NextFree, doing, []string{t.Keys.Timeline(r.User), t.settings(r.User)}, []any{
				script.Milliseconds(r.Now), from, direction, r.Count - found, by.Rules.Reach(t.Options.Reach).Milliseconds(), self,
				judge.Words, by.Rules.Offsets(years), before, t.named(judge, r.User), judge.QuietHours(years), by.Settings(),
			})
		})
		if err != nil {
			return nil, by, err
		}
		if cursor.Anew() {
			times, taken = nil, nil
		}
		in := script.Read(answer, doing)
		next := in.Int(1)
		for i := 2; i < len(answer); i++ {
			times = append(times, in.Time(i))
			taken = append(taken, strconv.FormatInt(in.Int(i), 10))
		}
		if in.Err != nil || next == 0 {
			return times, by, in.Err
		}
		if err := cursor.GoOn(doing, by, next); err != nil {
			return nil, by, err
		}
	}
}

// PolicyOf returns what a user's messages were judged by in the last call about
// them: the policy that their settings name, with limits of their own in place. It
// asks nobody, so of a user of whom there was no call yet it may not be that.
func (t *Timeline) PolicyOf(user string) policy.Policy { return t.Book.Of(user).Rules.Policy }

// reservations reads id and time pairs from element i on.
func reservations(r *script.ReplyReader, i int) []keyspace.Reservation {
	if i >= len(r.Reply) {
		return nil
	}
	list := make([]keyspace.Reservation, 0, (len(r.Reply)-i)/2)
	for ; i < len(r.Reply); i += 2 {
		list = append(list, keyspace.Reservation{ID: r.String(i), At: r.Time(i + 1)})
	}
	return list
}
