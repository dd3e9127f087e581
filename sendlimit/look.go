package sendlimit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// NextFree returns the next free times from a time on, ascending, or with Earlier the
// last ones before it, descending. Each counts those before it as taken. It returns fewer than
// requested if the reach has no more, and none for a blocked user, or for a category that the
// user does not want. It does not know what throttles and quotas have left.
func (t *Timeline) NextFree(ctx context.Context, r NextFreeRequest) ([]time.Time, error) {
	if err := keyspace.CheckUser(r.User); err != nil {
		return nil, err
	}
	if r.Count < 1 || r.Count > MaxNextFree {
		return nil, &fault.InvalidError{Field: "count", Value: strconv.Itoa(r.Count), Want: fmt.Sprintf("1 to %d", MaxNextFree)}
	}
	if err := t.options.checkShare(r.Share); err != nil {
		return nil, err
	}
	book, err := t.book()
	if err != nil {
		return nil, err
	}
	times, by, err := book.FreeTimes(ctx, t.search(r))
	if err == nil && (by.Blocked || by.Rules.Scope(r.Category).OptedOut) {
		times = nil
	}
	return times, err
}

// List returns a user's reservations, uncounted ones too, ascending by send time,
// then id. Sent ones are listed while a rule can still count them. With records,
// unsent ones are always listed.
func (t *Timeline) List(ctx context.Context, r ListRequest) ([]keyspace.Reservation, error) {
	const doing = "listing reservations"
	limit, err := r.Check()
	if err != nil {
		return nil, err
	}
	book, err := t.book()
	if err != nil {
		return nil, err
	}
	keys := []string{t.keys.Timeline(r.User)}
	if t.options.Records {
		keys = append(keys, t.keys.Uncounted(r.User))
	}
	var list []keyspace.Reservation
	for {
		args := []any{
			script.Milliseconds(r.Now), script.Milliseconds(r.From), script.Milliseconds(r.To),
			script.Milliseconds(r.After.At), r.After.ID, limit - len(list), book.Keep.Milliseconds(),
		}
		if t.options.Records {
			args = append(args, t.keys.RecordPrefix(r.User))
		}
		answer, err := script.Run(ctx, t.client, lua.List, doing, keys, args)
		if err != nil {
			return nil, err
		}
		in := script.Read(answer, doing)
		_ = in.Time(0)
		resume := keyspace.Reservation{ID: in.String(2), At: in.Time(1)}
		list = append(list, reservations(in, 3)...)
		if in.Err != nil || resume.At.IsZero() || len(list) == limit {
			return list, in.Err
		}
		if resume == r.After {
			return nil, script.ReplyError(doing, "the next call would start at the same place")
		}
		r.After = resume
	}
}

// Check validates a request and returns its limit.
func (r ListRequest) Check() (limit int, err error) {
	if err := keyspace.CheckUser(r.User); err != nil {
		return 0, err
	}
	limit = cmp.Or(r.Limit, MaxList)
	if limit < 1 || limit > MaxList {
		return 0, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxList)}
	}
	if !r.From.IsZero() && !r.To.IsZero() && !r.To.After(r.From) {
		return 0, &fault.InvalidError{Field: "to", Value: r.To.Format(time.RFC3339), Says: "to is not after from"}
	}
	return limit, nil
}

// lastUsageYear is the last year that Usage can be asked about. A window that contains a
// time of it ends up to 366 days later, still in a year that RFC 3339 can write.
const lastUsageYear = 9997

// checkYears returns an error if windows and stretches around the times would end after
// the year 9999. To needs no check: it is at most MaxUsageSpan after From.
func (r UsageRequest) checkYears() error {
	for _, asked := range []struct {
		field string
		at    time.Time
	}{{"at", r.At}, {"from", r.From}} {
		if asked.at.UTC().Year() > lastUsageYear {
			return &fault.InvalidError{
				Field: asked.field, Value: asked.at.UTC().Format(time.RFC3339), Want: fmt.Sprintf("a time up to the year %d", lastUsageYear),
			}
		}
	}
	return nil
}

// checkSpan returns an error if To is not after From, or too long after it.
func (r UsageRequest) checkSpan() error {
	spanned := !r.From.IsZero() || !r.To.IsZero()
	if spanned && (!r.To.After(r.From) || r.To.Sub(r.From) > MaxUsageSpan) {
		return &fault.InvalidError{
			Field: "to", Value: r.To.Format(time.RFC3339),
			Says: fmt.Sprintf("to has to be after from, by at most %d days", int(MaxUsageSpan/calendar.DayLong)),
		}
	}
	return nil
}

// Usage returns how full each rule is at a time, and which stretches of a span
// are free. It does not know what throttles have left.
func (t *Timeline) Usage(ctx context.Context, r UsageRequest) (Usage, error) {
	if err := keyspace.CheckUser(r.User); err != nil {
		return Usage{}, err
	}
	if err := r.checkYears(); err != nil {
		return Usage{}, err
	}
	if err := r.checkSpan(); err != nil {
		return Usage{}, err
	}
	book, err := t.book()
	if err != nil {
		return Usage{}, err
	}
	u, by, err := t.usageAt(ctx, book, r)
	if err != nil || r.From.IsZero() && r.To.IsZero() {
		return u, err
	}
	parts := by.Book.Of(r.User).Rules.Parts()
	if len(parts) == 1 {
		return u, nil
	}
	u.Free, u.Quiet = nil, nil
	for _, part := range parts {
		own := r
		if part.From.After(r.From) {
			own.From = part.From
		}
		if !part.Until.IsZero() && part.Until.Before(r.To) {
			own.To = part.Until
		}
		if own.At = own.From; !own.From.Before(own.To) {
			continue
		}
		of, _, err := t.usageAt(ctx, book, own)
		if err != nil {
			return Usage{}, err
		}
		u.Free, u.Quiet = joined(u.Free, of.Free), joined(u.Quiet, of.Quiet)
	}
	return u, nil
}

// joined returns two lists of stretches one after the other. Those that touch become one.
func joined(first, second []calendar.Stretch) []calendar.Stretch {
	for _, s := range second {
		if last := len(first) - 1; last >= 0 && first[last].Until.Equal(s.From) {
			first[last].Until = s.Until
		} else {
			first = append(first, s)
		}
	}
	return first
}

// usageAt returns the usage by the rules of one time. It takes as many calls as necessary:
// one long call would block the server.
func (t *Timeline) usageAt(ctx context.Context, book *judge.Rulebook, r UsageRequest) (Usage, judge.UserRules, error) {
	const doing = "reading the usage"
	var u Usage
	spanned := !r.From.IsZero() || !r.To.IsZero()
	cursor := judge.SearchCursor{Begin: ""}
	call := judge.Call{Client: t.client, Script: lua.Usage, Doing: doing, User: r.User, At: func(judge.UserRules) time.Time {
		return cmp.Or(r.At, u.At, r.Now)
	}}
	for {
		answer, by, err := book.Run(ctx, call, func(by judge.UserRules) ([]string, []any) {
			from := cursor.Under(by)
			about := t.about(r.Now, cmp.Or(r.At, r.From), by.Rules.Scope(r.Category))
			return []string{t.keys.Timeline(r.User), t.settings(r.User)}, append(by.Arguments(about, 4),
				script.Milliseconds(cmp.Or(r.At, u.At)), script.Milliseconds(r.From), script.Milliseconds(r.To), from)
		})
		if err != nil {
			return Usage{}, by, err
		}
		book = by.Book
		if cursor.Anew() {
			u = Usage{}
		}
		scope, in := by.Rules.Scope(r.Category), script.Read(answer, doing)
		next := u.read(scope, in)
		if in.Err != nil {
			return Usage{}, by, in.Err
		}
		if next != "" {
			if err := cursor.GoOn(doing, by, next); err != nil {
				return Usage{}, by, err
			}
			continue
		}
		if len(u.Rules) != scope.Count() {
			return Usage{}, by, script.ReplyError(doing, fmt.Sprintf("%d rules", len(u.Rules)))
		}
		u.Blocked, u.OptedOut = by.Blocked, scope.OptedOut
		if spanned {
			u.Quiet = scope.QuietWithin(r.From.UnixMilli(), r.To.UnixMilli())
			u.Free = subtract(u.Free, u.Quiet)
			if by.Blocked || scope.OptedOut {
				u.Free = nil
			}
		}
		return u, by, nil
	}
}

// read adds the answer of a call, see lua/place/usage.lua. It returns where the next call
// continues, "" after the last.
func (u *Usage) read(c *judge.Scope, in *script.ReplyReader) (next string) {
	if u.Now.IsZero() {
		u.Now, u.At = in.Time(0), in.Time(1)
	}
	next = in.String(2)
	free := in.Nested(3)
	var more []calendar.Stretch
	for i := 0; i < len(free.Reply); i += 2 {
		more = append(more, calendar.Stretch{From: free.Time(i), Until: free.Time(i + 1)})
	}
	u.Free = joined(u.Free, more)
	in.Absorb(free)
	for i := 4; i < len(in.Reply); i++ {
		row, number := in.Nested(i), len(u.Rules)+1
		if number > c.Count() {
			in.Absorb(&script.ReplyReader{Err: script.ReplyError(in.Doing, fmt.Sprintf("rule %d", number))})
			return ""
		}
		rule, category := c.Rule(number)
		u.Rules = append(u.Rules, RuleUsage{
			Rule: rule, Category: category, Used: int(row.Int(0)), From: row.Time(1), Until: row.Time(2),
		})
		in.Absorb(row)
	}
	return next
}

// subtract returns stretches without the parts that others cover. Both lists
// ascend, and neither overlaps itself.
func subtract(stretches, others []calendar.Stretch) []calendar.Stretch {
	var left []calendar.Stretch
	for _, s := range stretches {
		for _, o := range others {
			if !o.Until.After(s.From) || !o.From.Before(s.Until) {
				continue
			}
			if o.From.After(s.From) {
				left = append(left, calendar.Stretch{From: s.From, Until: o.From})
			}
			s.From = o.Until
		}
		if s.From.Before(s.Until) {
			left = append(left, s)
		}
	}
	return left
}
