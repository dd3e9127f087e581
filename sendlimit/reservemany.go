package sendlimit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// MaxReserveMany is the maximum number of requests of one ReserveMany.
const MaxReserveMany = 16

// ReserveMany decides about requests with records in one call of the store, in their order, as
// Reserve would. All requests are of one user, category and account, with different ids, and not of
// a dry run. It returns the decisions about the first of them, maybe none: it stops before the
// first request that needs more than a free or a refused place. Pass the rest to Reserve.
//
// A reply may get lost. Then give up none of the requests: Reserve with the same records returns
// what became of each.
func (t *Timeline) ReserveMany(ctx context.Context, requests []Request) ([]Decision, error) {
	const doing = "reserving places"
	if !t.options.Records || len(requests) > MaxReserveMany {
		return nil, &fault.InvalidError{Field: "requests", Value: strconv.Itoa(len(requests)), Want: fmt.Sprintf("at most %d, of a timeline with records", MaxReserveMany)}
	}
	checked := make([]Request, len(requests))
	for i, r := range requests {
		var err error
		if checked[i], err = t.checked(r); err != nil {
			return nil, err
		}
		if err := checkRecord(r.Record); err != nil {
			return nil, err
		}
		if err := r.Hold.check(true); err != nil {
			return nil, err
		}
		if r.Replace != nil {
			return nil, &fault.InvalidError{Field: "replace", Value: r.ID, Want: "none: pass the request to Reserve"}
		}
	}
	book, err := t.book()
	if err != nil {
		return nil, err
	}
	if len(checked) == 0 || t.copyOf != nil || len(t.alike(checked, book.Of(checked[0].User).At(checked[0].At))) == 0 {
		return nil, nil
	}
	var judged []Request
	call := judge.Call{
		Client: t.client, Script: lua.ReserveMany, Doing: doing, User: checked[0].User, Zone: checked[0].Zone,
		At: func(judge.UserRules) time.Time { return checked[0].At }, Valid: validOf(checked),
	}
	answer, by, err := book.Run(ctx, call, func(by judge.UserRules) (keys []string, args []any) {
		judged = checked[:max(1, len(t.alike(checked, by)))]
		return t.manyCall(judged, by)
	})
	if err != nil {
		return nil, err
	}
	in := script.Read(answer, doing)
	now := in.Time(1)
	var decisions []Decision
	for i, r := range judged {
		if i+2 >= len(answer) || in.Err != nil {
			break
		}
		d := Decision{Allowed: true, At: r.At.UTC().Truncate(time.Millisecond), Now: now}
		if _, refused := answer[i+2].([]any); refused {
			if d, err = t.decision(ctx, in.Nested(i+2), r, by, ""); err != nil {
				return nil, err
			}
		}
		decisions = append(decisions, d)
	}
	return decisions, in.Err
}

// validOf returns the Request.Valid of requests together, nil if none has one.
func validOf(requests []Request) func(context.Context) (time.Time, error) {
	if !slices.ContainsFunc(requests, func(r Request) bool { return r.Valid != nil }) {
		return nil
	}
	return func(ctx context.Context) (until time.Time, err error) {
		until = time.UnixMilli(script.EndOfTime)
		for _, r := range requests {
			if r.Valid == nil {
				continue
			}
			at, err := r.Valid(ctx)
			if err != nil {
				return time.Time{}, err
			}
			if at.Before(until) {
				until = at
			}
		}
		return until, nil
	}
}

// alike returns the first requests that one call may judge by the same rules. It ends before a
// request that may be shifted.
func (t *Timeline) alike(requests []Request, by judge.UserRules) []Request {
	first := requests[0]
	ids := make([]string, 0, len(requests))
	for i, r := range requests {
		if r.User != first.User || r.Category != first.Category || r.Share != first.Share || r.Now != first.Now ||
			r.WithoutFreeTimes != first.WithoutFreeTimes || r.Zone != first.Zone || r.At.IsZero() || r.shifts(by.Rules) || slices.Contains(ids, r.ID) ||
			!by.Judges(r.User, r.At) {
			return requests[:i]
		}
		ids = append(ids, r.ID)
	}
	return requests
}

// manyCall builds the keys and arguments of lua.ReserveMany, for the first requests that have the
// same judging arguments.
func (t *Timeline) manyCall(requests []Request, by judge.UserRules) (keys []string, args []any) {
	for i, r := range requests {
		k, a := t.reserveCall(r, by, "")
		if i == 0 {
			keys, args = k[:2:2], a[:judge.Judging:judge.Judging]
		} else if !slices.Equal(args[:judge.Judging], a[:judge.Judging]) {
			break
		}
		own := a[judge.Judging:]
		keys, args = append(keys, k[2]), append(append(args, len(own)), own...)
	}
	return keys, args
}
