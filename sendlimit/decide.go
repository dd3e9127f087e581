package sendlimit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
)

// What the scripts say first, see lua/fragments/status.lua.
const (
	statusAllowed = iota
	statusSendLimit
	statusIDReused
	statusTooLate
	statusNotFound
	statusInPast
	statusTooFarAhead
	statusSearchOn
	statusPastExpiry
)

// And what they say of a change with a hold, see lua/fragments/hold.lua, and of a
// user's settings and quiet hours.
const (
	statusHoldOver = iota + 10
	statusOutsideHold
	statusChanged
	statusSettingsChanged
	statusBlocked
	statusQuietHours
)

const (
	flagShifted  = 1
	flagReplayed = 2
)

// decide makes a decision of what call replies, calling again as long as the
// search for a free time goes on.
func (t *Timeline) decide(
	ctx context.Context, r Request, doing string, call func(by userRules, resume any) (reply, error),
) (Decision, error) {
	cursor := searchCursor{begin: ""}
	for {
		answer, by, err := judged(ctx, t.book, r.User, doing, func(by userRules) (reply, error) {
			return call(by, cursor.under(by))
		})
		if err != nil {
			return Decision{}, err
		}
		in := read(answer, doing)
		if len(answer) == 1 { // the plain acceptance: now alone
			return Decision{Allowed: true, At: r.At.UTC().Truncate(time.Millisecond), Now: in.time(0)}, in.err
		}
		if in.int(0) != statusSearchOn {
			return t.decision(ctx, in, r.User, by.rules, "")
		}
		next := in.int(2)
		if in.err != nil {
			return Decision{}, in.err
		}
		if err := cursor.goOn(doing, by, next); err != nil {
			return Decision{}, err
		}
	}
}

// decision turns a reply, given by a user's rules, into a Decision. self is the
// reservation that does not count when a search goes on.
func (t *Timeline) decision(ctx context.Context, in *replyReader, user string, by *ruleset, self string) (Decision, error) {
	status := in.int(0)
	d := Decision{Now: in.time(1), At: in.time(2)}
	d.RequestedAt = in.time(3)
	switch status {
	case statusAllowed:
		flags := in.int(4)
		d.Allowed = true
		d.Shifted, d.Replayed = flags&flagShifted != 0, flags&flagReplayed != 0
		d.MovedFrom = in.time(5)
		d.Notices = in.strings(6)
	case statusSendLimit:
		d.Code = CodeSendLimit
		return t.refusal(ctx, in, d, user, by, self)
	case statusQuietHours:
		d.Code, d.Quiet = CodeQuietHours, by.quietPeriod(d.At)
		if d.Quiet == nil && in.err == nil { // as with a clock that is years off
			return Decision{}, replyError(in.doing, "quiet hours that there are not")
		}
		return t.refusal(ctx, in, d, user, by, self)
	case statusBlocked:
		d.Code = CodeBlocked
	case statusIDReused:
		d.Code = CodeIDReused
	case statusTooLate:
		d.Code = CodeTooLate
	case statusNotFound:
		d.Code = CodeNotFound
	case statusInPast:
		d.Code = CodeInPast
	case statusTooFarAhead:
		d.Code = CodeTooFarAhead
	case statusPastExpiry:
		d.Code = CodePastExpiry
		d.ExpiresAt = in.time(4)
	case statusHoldOver:
		d.Code = CodeHoldOver
	case statusOutsideHold:
		d.Code = CodeOutsideHold
	case statusChanged:
		d.Code = CodeChanged
	default:
		return Decision{}, replyError(in.doing, fmt.Sprintf("status %d", status))
	}
	return d, in.err
}

func (t *Timeline) refusal(ctx context.Context, in *replyReader, d Decision, user string, by *ruleset, self string) (Decision, error) {
	d.NextFree, d.PreviousFree = in.time(4), in.time(6)
	category := in.string(8)
	judge := by.scope(category)
	for i := 9; i < len(in.reply); i++ {
		v, err := judge.violation(in.nested(i))
		if err != nil {
			return Decision{}, err
		}
		d.Violations = append(d.Violations, v)
	}
	if in.err != nil {
		return Decision{}, in.err
	}
	on := NextFreeRequest{User: user, Category: category, Count: 1, Now: d.Now}
	var err error
	if on.From = in.time(5); !on.From.IsZero() {
		if d.NextFree, err = t.searchOn(ctx, on, self, 1); err != nil {
			return Decision{}, err
		}
	}
	if on.From = in.time(7); !on.From.IsZero() {
		if d.PreviousFree, err = t.searchOn(ctx, on, self, -1); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

func (c *scope) violation(in *replyReader) (Violation, error) {
	number := int(in.int(0))
	if in.err == nil && (number < 1 || number > c.count()) {
		return Violation{}, replyError(in.doing, fmt.Sprintf("rule %d", number))
	}
	v := Violation{ConflictsTotal: int(in.int(1)), From: in.time(2), Until: in.time(3), Conflicts: in.reservations(4)}
	if in.err != nil {
		return Violation{}, in.err
	}
	v.Rule, v.Category = c.rule(number)
	return v, nil
}

// searchOn goes on with a search that one call did not finish.
func (t *Timeline) searchOn(ctx context.Context, r NextFreeRequest, self string, direction int) (time.Time, error) {
	times, _, err := t.nextFree(ctx, r, self, direction)
	if err != nil || len(times) == 0 {
		return time.Time{}, err
	}
	return times[0], nil
}

// nextFree calls lua.NextFree until it has what was asked for. It returns what the
// times were judged by, too.
func (t *Timeline) nextFree(
	ctx context.Context, r NextFreeRequest, self string, direction int,
) (times []time.Time, by userRules, err error) {
	const doing = "looking for free times"
	cursor := searchCursor{begin: milliseconds(r.From)}
	var taken []string
	for {
		var answer reply
		answer, by, err = judged(ctx, t.book, r.User, doing, func(by userRules) (reply, error) {
			from, found, before := cursor.under(by), len(times), strings.Join(taken, " ")
			if cursor.anew() {
				found, before = 0, ""
			}
			judge, years := by.rules.scope(r.Category), r.years()
			return run(ctx, t.client, lua.NextFree, doing, []string{t.keys.Timeline(r.User), t.settings(r.User)}, []any{
				milliseconds(r.Now), from, direction, r.Count - found, by.rules.reach(t.options.Reach).Milliseconds(), self,
				judge.words, by.rules.offsets(years), before, t.named(judge, r.User), judge.quietHours(years), by.settings(),
			})
		})
		if err != nil {
			return nil, by, err
		}
		if cursor.anew() {
			times, taken = nil, nil
		}
		in := read(answer, doing)
		next := in.int(1)
		for i := 2; i < len(answer); i++ {
			times = append(times, in.time(i))
			taken = append(taken, strconv.FormatInt(in.int(i), 10))
		}
		if in.err != nil || next == 0 {
			return times, by, in.err
		}
		if err := cursor.goOn(doing, by, next); err != nil {
			return nil, by, err
		}
	}
}
