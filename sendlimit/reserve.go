package sendlimit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/lua"
)

// Record is what to remember of a message beside its place.
type Record struct {
	// Generation is a random token made for this call and never used again,
	// see NewGeneration: the only task that may deliver the message carries it.
	Generation string
	// Fingerprint tells a repeated request from another one with the same id.
	Fingerprint string
	// ExpiresAt is when the message is dropped rather than sent, if the caller
	// set it; otherwise the gate's default applies.
	ExpiresAt time.Time
	Category  string
	Content   []byte // opaque; erased when the message ends
}

// Reserve takes the place asked for, or with Shift the next free time, or says
// why not. Nothing is written on a refusal. The same request again gives the
// first answer again, marked Replayed.
func (t *Timeline) Reserve(ctx context.Context, r Request) (Decision, error) {
	const doing = "reserving a place"
	r, err := t.checked(r)
	if err != nil {
		return Decision{}, err
	}
	if t.options.Records {
		if err := checkRecord(r.Record); err != nil {
			return Decision{}, err
		}
	}
	if !r.SearchFrom.IsZero() && !r.Shift && !r.ByPolicy {
		return Decision{}, &InvalidError{Field: "search_from", Value: r.SearchFrom.String(), Want: "none without a shift"}
	}
	if err := r.Hold.check(t.options.Records); err != nil {
		return Decision{}, err
	}
	return t.decide(ctx, r, doing, func(by userRules, resume any) (reply, error) {
		keys, args := t.reserveCall(r, by, resume)
		return run(ctx, t.client, lua.Reserve, doing, keys, args)
	})
}

// Check says what Reserve would answer, and writes nothing. Of a Record it
// looks at the Fingerprint and the Category only.
func (t *Timeline) Check(ctx context.Context, r Request) (Decision, error) {
	const doing = "checking a time"
	r, err := t.checked(r)
	if err != nil {
		return Decision{}, err
	}
	return t.decide(ctx, r, doing, func(by userRules, resume any) (reply, error) {
		keys, args := t.checkCall(r, by, resume)
		return run(ctx, t.client, lua.Check, doing, keys, args)
	})
}

// checked is a request that can be made, with its category both in itself and in
// its record.
func (t *Timeline) checked(r Request) (Request, error) {
	if err := checkUser(r.User); err != nil {
		return r, err
	}
	if err := checkID(r.ID); err != nil {
		return r, err
	}
	switch {
	case t.options.Records && r.Record == nil:
		return r, &InvalidError{Field: "record", Value: "", Want: "a record: this timeline keeps them"}
	case !t.options.Records && r.Record != nil:
		return r, &InvalidError{Field: "record", Value: r.Record.Generation, Want: "none: this timeline keeps places only"}
	case r.Record == nil || r.Record.Category == r.Category:
		return r, nil
	case r.Category == "":
		r.Category = r.Record.Category
	case r.Record.Category == "":
		record := *r.Record
		record.Category = r.Category
		r.Record = &record
	default:
		return r, &InvalidError{
			Field: "category", Value: r.Category,
			Want: fmt.Sprintf("the same as the record's, which is %q", r.Record.Category),
		}
	}
	return r, nil
}

func checkRecord(r *Record) error {
	return checkGeneration(r.Generation)
}

// reserveCall builds the keys and arguments of lua.Reserve.
func (t *Timeline) reserveCall(r Request, by userRules, resume any) ([]string, []any) {
	set, judge := by.rules, by.rules.scope(r.Category)
	args := make([]any, 0, 40)
	args = append(args, milliseconds(r.Now), r.ID)
	keep := set.keep.Milliseconds()
	shiftUntil, searchFrom := r.shift(set)
	if r.At.IsZero() {
		args = append(args, "", "", "", "")
	} else {
		at := r.At.UnixMilli()
		first, last := any(""), any("")
		if !by.blocked && !judge.quietAt(at) {
			first, last = judge.span(at)
		}
		args = append(args, at, first, last, max(at+keep, t.expiry(r, at)))
	}
	alertFrom, alerts := t.alerts(judge)
	years := cmp.Or(r.At, r.Now)
	zones := set.offsets(years)
	if quiet := judge.quietHours(years); quiet != "" {
		zones += "#" + quiet
	}
	if resume != any("") {
		shiftUntil = fmt.Sprint(shiftUntil, " ", resume)
	}
	args = append(args, keep, set.reach(t.options.Reach).Milliseconds(), judge.words, zones, shiftUntil, t.named(judge, r.User),
		alertFrom, alerts, r.Hold.bounds(searchFrom), by.settings())
	keys := []string{judge.places(t.keys, r.User), t.settings(r.User)}
	if !t.options.Records {
		return keys, args
	}
	rec := r.Record
	expires := "+" + strconv.FormatInt(t.options.ExpireAfter.Milliseconds(), 10)
	if !rec.ExpiresAt.IsZero() {
		expires = strconv.FormatInt(rec.ExpiresAt.UnixMilli(), 10)
	}
	args = append(args, t.options.LookAfter.Milliseconds(), WatchMember(r.User, r.ID, rec.Generation), expires,
		"g", rec.Generation, "f", rec.Fingerprint, "t", args[2])
	if !rec.ExpiresAt.IsZero() {
		args = append(args, "x", expires)
	}
	if rec.Category != "" {
		args = append(args, "k", rec.Category)
	}
	if len(rec.Content) > 0 {
		args = append(args, "c", rec.Content)
	}
	if judge.uncounted {
		args = append(args, "z", 1)
	}
	if r.Hold != nil {
		args = append(args, "y", r.Hold.charge())
	}
	return append(keys, t.keys.Record(r.User, r.ID), t.keys.Watch(r.User)), args
}

// expiry is when the message of a request expires at the latest, Unix ms: as
// long as it can be sent, its place tells of it. 0 without a record.
func (t *Timeline) expiry(r Request, at int64) int64 {
	switch {
	case !t.options.Records:
		return 0
	case r.Record.ExpiresAt.IsZero():
		return at + t.options.ExpireAfter.Milliseconds()
	default:
		return r.Record.ExpiresAt.UnixMilli()
	}
}

func (t *Timeline) checkCall(r Request, by userRules, resume any) ([]string, []any) {
	set, judge := by.rules, by.rules.scope(r.Category)
	shiftUntil, _ := r.shift(set)
	years := cmp.Or(r.At, r.Now)
	args := []any{
		milliseconds(r.Now), r.ID, milliseconds(r.At), set.keep.Milliseconds(), set.reach(t.options.Reach).Milliseconds(),
		shiftUntil, resume, judge.words, set.offsets(years), t.named(judge, r.User), judge.quietHours(years), by.settings(),
	}
	keys := []string{judge.places(t.keys, r.User), t.settings(r.User)}
	if t.options.Records {
		keys = append(keys, t.keys.Record(r.User, r.ID))
		args = append(args, r.Record.Fingerprint)
	}
	return keys, args
}

// endOfTime is later than any send time and exact in a Lua number.
const endOfTime = int64(1) << 53

// shift is how far a request may be shifted under a policy, "" for not at all, and
// from when on a time is looked for.
func (r Request) shift(set *ruleset) (until any, from time.Time) {
	switch {
	case !r.Shift && (!r.ByPolicy || set.policy.OnConflict != Shift):
		return "", time.Time{}
	case r.ShiftUntil.IsZero():
		return endOfTime, r.SearchFrom
	default:
		return r.ShiftUntil.UnixMilli(), r.SearchFrom
	}
}
