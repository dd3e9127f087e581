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
// no more.
func (t *Timeline) NextFree(ctx context.Context, r NextFreeRequest) ([]time.Time, error) {
	if err := checkUser(r.User); err != nil {
		return nil, err
	}
	if r.Count < 1 || r.Count > MaxNextFree {
		return nil, &InvalidError{Field: "count", Value: strconv.Itoa(r.Count), Want: fmt.Sprintf("1 to %d", MaxNextFree)}
	}
	return t.nextFree(ctx, r, "", 1)
}

// List gives a user's reservations, ascending by send time, then id. Those
// sent are remembered as long as a rule can still count them; with records, those
// still to be sent always are.
func (t *Timeline) List(ctx context.Context, r ListRequest) ([]Reservation, error) {
	const doing = "listing reservations"
	limit, err := r.check()
	if err != nil {
		return nil, err
	}
	records := ""
	if t.records {
		records = t.keys.RecordPrefix(r.User)
	}
	var list []Reservation
	for {
		answer, err := run(ctx, t.client, lua.List, doing, []string{t.keys.Timeline(r.User)}, []any{
			milliseconds(r.Now), milliseconds(r.From), milliseconds(r.To),
			milliseconds(r.After.At), r.After.ID, limit - len(list), t.rules.keep.Milliseconds(), records,
		})
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
	answer, err := run(ctx, t.client, lua.Usage, doing, []string{t.keys.Timeline(r.User)}, []any{
		milliseconds(r.Now), milliseconds(r.At), milliseconds(r.From), milliseconds(r.To), t.rules.keep.Milliseconds(),
		t.rules.rules, t.offsets(r.At, r.From, r.Now),
	})
	if err != nil {
		return Usage{}, err
	}
	return t.usage(read(answer, doing), spanned)
}

func (t *Timeline) usage(in *replyReader, spanned bool) (Usage, error) {
	u := Usage{Now: in.time(0), At: in.time(1)}
	for i, rule := range t.rules.policy.Rules {
		row := in.nested(2 + i)
		u.Rules = append(u.Rules, RuleUsage{Rule: rule, Used: int(row.int(0)), From: row.time(1), Until: row.time(2)})
		in.absorb(row)
	}
	if spanned {
		free := in.nested(2 + len(t.rules.policy.Rules))
		for i := 0; i < len(free.reply); i += 2 {
			u.Free = append(u.Free, Stretch{From: free.time(i), Until: free.time(i + 1)})
		}
		in.absorb(free)
	}
	return u, in.err
}
