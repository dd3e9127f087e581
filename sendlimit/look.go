package sendlimit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// NextFree returns the next free times from a time on, ascending, or with Earlier the last ones
// before it, descending. Each counts those before it as taken. It returns fewer than requested if
// the reach has no more, and none for a blocked user or for a category that the user does not want.
// It does not know what throttles and quotas have left.
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

// List returns a user's reservations, including uncounted ones, ascending by send time, then id.
// Sent ones are listed while a rule can still count them. With records, unsent ones are always
// listed.
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
		in := script.Call(ctx, t.client, lua.List, doing, keys, args)
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

// Check validates a request and returns its limit with the default applied.
func (r ListRequest) Check() (limit int, err error) {
	if err := keyspace.CheckUser(r.User); err != nil {
		return 0, err
	}
	limit = cmp.Or(r.Limit, MaxList)
	if limit < 1 || limit > MaxList {
		return 0, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxList)}
	}
	if !r.From.IsZero() && !r.To.IsZero() && !r.To.After(r.From) {
		return 0, &fault.InvalidError{Field: "until", Value: r.To.Format(time.RFC3339), Says: "until must be after from"}
	}
	return limit, nil
}
