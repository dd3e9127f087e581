package sendlimit

import (
	"context"
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
	if err := t.checkRequest(r); err != nil {
		return Decision{}, err
	}
	if t.records {
		if err := checkRecord(r.Record); err != nil {
			return Decision{}, err
		}
	}
	if !r.SearchFrom.IsZero() && !r.Shift {
		return Decision{}, &InvalidError{Field: "search_from", Value: r.SearchFrom.String(), Want: "none without a shift"}
	}
	if err := r.Hold.check(t.records); err != nil {
		return Decision{}, err
	}
	return t.decide(ctx, r, doing, func(resume any) (reply, error) {
		keys, args := t.reserveCall(r, resume)
		return run(ctx, t.client, lua.Reserve, doing, keys, args)
	})
}

// Check says what Reserve would answer, and writes nothing. Of a Record it
// looks at the Fingerprint only.
func (t *Timeline) Check(ctx context.Context, r Request) (Decision, error) {
	const doing = "checking a time"
	if err := t.checkRequest(r); err != nil {
		return Decision{}, err
	}
	return t.decide(ctx, r, doing, func(resume any) (reply, error) {
		keys, args := t.checkCall(r, resume)
		return run(ctx, t.client, lua.Check, doing, keys, args)
	})
}

func (t *Timeline) checkRequest(r Request) error {
	if err := checkUser(r.User); err != nil {
		return err
	}
	if err := checkID(r.ID); err != nil {
		return err
	}
	switch {
	case t.records && r.Record == nil:
		return &InvalidError{Field: "record", Value: "", Want: "a record: this timeline keeps them"}
	case !t.records && r.Record != nil:
		return &InvalidError{Field: "record", Value: r.Record.Generation, Want: "none: this timeline keeps places only"}
	}
	return nil
}

func checkRecord(r *Record) error {
	return checkGeneration(r.Generation)
}

// reserveCall builds the keys and arguments of lua.Reserve.
func (t *Timeline) reserveCall(r Request, resume any) ([]string, []any) {
	args := make([]any, 0, 37)
	args = append(args, milliseconds(r.Now), r.ID)
	keep := t.rules.keep.Milliseconds()
	if r.At.IsZero() {
		args = append(args, "", "", "", "")
	} else {
		at := r.At.UnixMilli()
		first, last := t.rules.span(at)
		args = append(args, at, first, last, max(at+keep, t.expiry(r, at)))
	}
	args = append(args, keep, t.reach.Milliseconds(), t.rules.rules, t.offsets(r.At, r.Now), r.shiftUntil(), resume,
		t.rules.alertFrom, t.rules.alerts, r.Hold.bounds(r.SearchFrom))
	if !t.records {
		return []string{t.keys.Timeline(r.User)}, args
	}
	rec := r.Record
	expires, lives := any(""), any(t.expire.Milliseconds())
	if !rec.ExpiresAt.IsZero() {
		expires, lives = rec.ExpiresAt.UnixMilli(), ""
	}
	args = append(args, t.look.Milliseconds(), WatchMember(r.User, r.ID, rec.Generation), expires, lives,
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
	if r.Hold != nil {
		args = append(args, "y", r.Hold.charge())
	}
	return []string{t.keys.Timeline(r.User), t.keys.Record(r.User, r.ID), t.keys.Watch(r.User)}, args
}

// expiry is when the message of a request expires at the latest, Unix ms: as
// long as it can be sent, its place tells of it. 0 without a record.
func (t *Timeline) expiry(r Request, at int64) int64 {
	switch {
	case !t.records:
		return 0
	case r.Record.ExpiresAt.IsZero():
		return at + t.expire.Milliseconds()
	default:
		return r.Record.ExpiresAt.UnixMilli()
	}
}

func (t *Timeline) checkCall(r Request, resume any) ([]string, []any) {
	args := []any{
		milliseconds(r.Now), r.ID, milliseconds(r.At), t.rules.keep.Milliseconds(), t.reach.Milliseconds(),
		r.shiftUntil(), resume, t.rules.rules, t.offsets(r.At, r.Now),
	}
	keys := []string{t.keys.Timeline(r.User)}
	if t.records {
		keys = append(keys, t.keys.Record(r.User, r.ID))
		args = append(args, r.Record.Fingerprint)
	}
	return keys, args
}

// endOfTime is later than any send time and exact in a Lua number.
const endOfTime = int64(1) << 53

func (r Request) shiftUntil() any {
	switch {
	case !r.Shift:
		return ""
	case r.ShiftUntil.IsZero():
		return endOfTime
	default:
		return r.ShiftUntil.UnixMilli()
	}
}

// offsets looks the zone's offsets up around the first time that is set, or
// around now.
func (t *Timeline) offsets(times ...time.Time) string {
	for _, at := range times {
		if !at.IsZero() {
			return t.rules.offsets(at)
		}
	}
	return t.rules.offsetsNow(time.Time{})
}
