package sendlimit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
)

// NextFree gives the next free times from a moment on, ascending, each
// counting those before it as taken; fewer than asked for when the reach has
// no more, none for a user who is blocked.
func (t *Timeline) NextFree(ctx context.Context, r NextFreeRequest) ([]time.Time, error) {
	if err := checkUser(r.User); err != nil {
		return nil, err
	}
	if r.Count < 1 || r.Count > MaxNextFree {
		return nil, &InvalidError{Field: "count", Value: strconv.Itoa(r.Count), Want: fmt.Sprintf("1 to %d", MaxNextFree)}
	}
	times, by, err := t.nextFree(ctx, r, "", 1)
	if by.blocked {
		times = nil
	}
	return times, err
}

// years is a time around which both begin and end of the search are, for the
// offsets of zones.
func (r NextFreeRequest) years() time.Time {
	now := orLocalClock(r.Now)
	if r.From.After(now) {
		return r.From
	}
	return now
}

// List gives a user's reservations, those that do not count among them, ascending
// by send time, then id. Those sent are remembered as long as a rule can still
// count them; with records, those still to be sent always are.
func (t *Timeline) List(ctx context.Context, r ListRequest) ([]Reservation, error) {
	const doing = "listing reservations"
	limit, err := r.check()
	if err != nil {
		return nil, err
	}
	keys := []string{t.keys.Timeline(r.User)}
	if t.options.Records {
		keys = append(keys, t.keys.Uncounted(r.User))
	}
	var list []Reservation
	for {
		args := []any{
			milliseconds(r.Now), milliseconds(r.From), milliseconds(r.To),
			milliseconds(r.After.At), r.After.ID, limit - len(list), t.book.keep.Milliseconds(),
		}
		if t.options.Records {
			args = append(args, t.keys.RecordPrefix(r.User))
		}
		answer, err := run(ctx, t.client, lua.List, doing, keys, args)
		if err != nil {
			return nil, err
		}
		in := read(answer, doing)
		_ = in.time(0)
		resume := Reservation{ID: in.string(2), At: in.time(1)}
		list = append(list, in.reservations(3)...)
		if in.err != nil || resume.At.IsZero() || len(list) == limit {
			return list, in.err
		}
		if resume == r.After {
			return nil, replyError(doing, "it goes on where it was")
		}
		r.After = resume
	}
}

// check checks a request, and returns how many it asks for.
func (r ListRequest) check() (limit int, err error) {
	if err := checkUser(r.User); err != nil {
		return 0, err
	}
	limit = cmp.Or(r.Limit, MaxList)
	if limit < 1 || limit > MaxList {
		return 0, &InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxList)}
	}
	if !r.From.IsZero() && !r.To.IsZero() && !r.To.After(r.From) {
		return 0, &InvalidError{Field: "to", Value: r.To.Format(time.RFC3339), Want: "a time after from"}
	}
	return limit, nil
}

// Usage says how full each rule is around a time, and which stretches of a
// span are free.
func (t *Timeline) Usage(ctx context.Context, r UsageRequest) (Usage, error) {
	const doing = "reading the usage"
	if err := checkUser(r.User); err != nil {
		return Usage{}, err
	}
	spanned := !r.From.IsZero() || !r.To.IsZero()
	if spanned && (!r.To.After(r.From) || r.To.Sub(r.From) > MaxUsageSpan) {
		return Usage{}, &InvalidError{
			Field: "to", Value: r.To.Format(time.RFC3339),
			Want: fmt.Sprintf("a time after from, at most %d days", int(MaxUsageSpan/day)),
		}
	}
	answer, by, err := judged(ctx, t.book, r.User, doing, func(by userRules) (reply, error) {
		judge := by.rules.scope(r.Category)
		return run(ctx, t.client, lua.Usage, doing, []string{t.keys.Timeline(r.User), t.settings(r.User)}, []any{
			milliseconds(r.Now), milliseconds(r.At), milliseconds(r.From), milliseconds(r.To), by.rules.keep.Milliseconds(),
			judge.words, by.rules.offsets(cmp.Or(r.At, r.From, r.Now)), t.named(judge, r.User), by.settings(),
		})
	})
	if err != nil {
		return Usage{}, err
	}
	judge := by.rules.scope(r.Category)
	u, err := judge.usage(read(answer, doing), spanned)
	u.Blocked = by.blocked
	if err == nil && spanned {
		u.Quiet = judge.quietWithin(r.From.UnixMilli(), r.To.UnixMilli())
		u.Free = without(u.Free, u.Quiet)
		if by.blocked {
			u.Free = nil
		}
	}
	return u, err
}

func (c *scope) usage(in *replyReader, spanned bool) (Usage, error) {
	u := Usage{Now: in.time(0), At: in.time(1)}
	for number := 1; number <= c.count(); number++ {
		row := in.nested(1 + number)
		rule, category := c.rule(number)
		u.Rules = append(u.Rules, RuleUsage{
			Rule: rule, Category: category, Used: int(row.int(0)), From: row.time(1), Until: row.time(2),
		})
		in.absorb(row)
	}
	if spanned {
		free := in.nested(2 + c.count())
		for i := 0; i < len(free.reply); i += 2 {
			u.Free = append(u.Free, Stretch{From: free.time(i), Until: free.time(i + 1)})
		}
		in.absorb(free)
	}
	return u, in.err
}

// without is what is left of stretches when others are taken away; both are
// ascending, and none of the same overlap.
func without(stretches, others []Stretch) []Stretch {
	var left []Stretch
	for _, s := range stretches {
		for _, o := range others {
			if !o.Until.After(s.From) || !o.From.Before(s.Until) {
				continue
			}
			if o.From.After(s.From) {
				left = append(left, Stretch{From: s.From, Until: o.From})
			}
			s.From = o.Until
		}
		if s.From.Before(s.Until) {
			left = append(left, s)
		}
	}
	return left
}
