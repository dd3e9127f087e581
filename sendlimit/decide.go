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

// And what they say of a change with a hold, see lua/fragments/hold.lua.
const (
	statusHoldOver = iota + 10
	statusOutsideHold
	statusChanged
)

const (
	flagShifted  = 1
	flagReplayed = 2
)

// decide makes a decision of what call replies, calling again as long as the
// search for a free time goes on.
func (t *Timeline) decide(ctx context.Context, r Request, doing string, call func(resume any) (reply, error)) (Decision, error) {
	var resume any = ""
	for {
		answer, err := call(resume)
		if err != nil {
			return Decision{}, err
		}
		in := read(answer, doing)
		if len(answer) == 1 { // the plain acceptance: now alone
			return Decision{Allowed: true, At: r.At.UTC().Truncate(time.Millisecond), Now: in.time(0)}, in.err
		}
		if in.int(0) != statusSearchOn {
			return t.decision(ctx, in, r.User, "")
		}
		from := any(in.int(2))
		if in.err != nil {
			return Decision{}, in.err
		}
		if from == resume {
			return Decision{}, replyError(doing, fmt.Sprintf("it goes on where it was, at %d", from))
		}
		resume = from
	}
}

// decision turns a reply into a Decision. self is the reservation that does
// not count when a search goes on.
func (t *Timeline) decision(ctx context.Context, in *replyReader, user, self string) (Decision, error) {
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
		return t.refusal(ctx, in, d, user, self)
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

func (t *Timeline) refusal(ctx context.Context, in *replyReader, d Decision, user, self string) (Decision, error) {
	d.NextFree, d.PreviousFree = in.time(4), in.time(6)
	for i := 8; i < len(in.reply); i++ {
		v, err := t.violation(in.nested(i))
		if err != nil {
			return Decision{}, err
		}
		d.Violations = append(d.Violations, v)
	}
	if in.err != nil {
		return Decision{}, in.err
	}
	var err error
	if from := in.time(5); !from.IsZero() {
		if d.NextFree, err = t.searchOn(ctx, user, self, from, d.Now, 1); err != nil {
			return Decision{}, err
		}
	}
	if from := in.time(7); !from.IsZero() {
		if d.PreviousFree, err = t.searchOn(ctx, user, self, from, d.Now, -1); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

func (t *Timeline) violation(in *replyReader) (Violation, error) {
	rule := in.int(0)
	if in.err == nil && (rule < 1 || int(rule) > len(t.rules.policy.Rules)) {
		return Violation{}, replyError(in.doing, fmt.Sprintf("rule %d", rule))
	}
	v := Violation{ConflictsTotal: int(in.int(1)), From: in.time(2), Until: in.time(3), Conflicts: in.reservations(4)}
	if in.err != nil {
		return Violation{}, in.err
	}
	v.Rule = t.rules.policy.Rules[rule-1]
	return v, nil
}

// searchOn goes on with a search that one call did not finish.
func (t *Timeline) searchOn(ctx context.Context, user, self string, from, now time.Time, direction int) (time.Time, error) {
	times, err := t.nextFree(ctx, NextFreeRequest{User: user, From: from, Count: 1, Now: now}, self, direction)
	if err != nil || len(times) == 0 {
		return time.Time{}, err
	}
	return times[0], nil
}

// nextFree calls lua.NextFree until it has what was asked for.
func (t *Timeline) nextFree(ctx context.Context, r NextFreeRequest, self string, direction int) ([]time.Time, error) {
	const doing = "looking for free times"
	from := milliseconds(r.From)
	var times []time.Time
	var taken []string
	for {
		answer, err := run(ctx, t.client, lua.NextFree, doing, []string{t.keys.Timeline(r.User)}, []any{
			milliseconds(r.Now), from, direction, r.Count - len(times), t.reach.Milliseconds(), self,
			t.rules.rules, t.offsets(r.From, r.Now), strings.Join(taken, " "),
		})
		if err != nil {
			return nil, err
		}
		in := read(answer, doing)
		resume := in.int(1)
		for i := 2; i < len(answer); i++ {
			times = append(times, in.time(i))
			taken = append(taken, strconv.FormatInt(in.int(i), 10))
		}
		if in.err != nil || resume == 0 {
			return times, in.err
		}
		if from == any(resume) {
			return nil, replyError(doing, fmt.Sprintf("it goes on where it was, at %d", resume))
		}
		from = resume
	}
}
