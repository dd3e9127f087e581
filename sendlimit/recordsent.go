package sendlimit

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// SentRequest describes a message that another system has sent.
type SentRequest struct {
	User string // as in Request
	ID   string // as in Request
	// At is when it was sent, cut to the millisecond.
	At time.Time
	// Record is the message's record. It is required by a Timeline with records, and refused by one
	// without. Its content and expiry are not kept: the message has ended.
	Record *Record
	Now    time.Time // as in Request
}

// Recorded is the answer to RecordSent.
type Recorded struct {
	// Code is why the message was not recorded: CodeIDReused, CodeTooManyPlaces, or
	// CodeInvalidField if At is in the future. It is empty otherwise.
	Code fault.Code
	// At is the send time that counts.
	At time.Time
	// PlacesPerDay is as in Decision.
	PlacesPerDay int
	// Replayed reports that the same message was recorded before.
	Replayed bool
	// Forgotten reports that nothing was recorded, since no rule looks back as far as At.
	Forgotten bool
	// Notices lists the alerts that the message raised, as in Decision.
	Notices []string
	// Now is the time of the call: the server's, or the request's.
	Now time.Time
}

// Reply codes of lua/place/record_sent.lua, besides the statuses of a decision.
const (
	statusNotOver = 9
	flagForgotten = 4
)

// RecordSent records a message that was sent in the past, so that it counts in every later
// decision, for example to take over from another system. Unlike Reserve it judges nothing: it
// takes the place even if that breaks rules. It writes no watch entry, since there is nothing to
// deliver. A repeated call changes nothing, and is marked Replayed while the record is kept.
func (t *Timeline) RecordSent(ctx context.Context, r SentRequest) (Recorded, error) {
	const doing = "recording a send"
	request, err := t.checked(Request{User: r.User, ID: r.ID, Record: r.Record})
	if err != nil {
		return Recorded{}, err
	}
	if r.At.IsZero() {
		return Recorded{}, &fault.InvalidError{Field: "send_at", Value: "", Want: "the time at which it was sent"}
	}
	if t.options.Records {
		if err := checkRecord(r.Record); err != nil {
			return Recorded{}, err
		}
	}
	book, err := t.book()
	if err != nil {
		return Recorded{}, err
	}
	call := judge.Call{Client: t.client, Script: lua.RecordSent, Doing: doing, User: r.User}
	answer, _, err := book.Run(ctx, call, func(by judge.UserRules) ([]string, []any) {
		return t.recordCall(r, by.Rules.Scope(request.Category), by)
	})
	if err != nil {
		return Recorded{}, err
	}
	in := script.Read(answer, doing)
	recorded := Recorded{Now: in.Time(1), At: in.Time(2)}
	status, flags := in.Int(0), in.Int(3)
	switch status {
	case judge.StatusAllowed:
		recorded.Replayed, recorded.Forgotten = flags&flagReplayed != 0, flags&flagForgotten != 0
		recorded.Notices = in.Strings(4)
	case judge.StatusIDReused:
		recorded.Code = fault.CodeIDReused
	case judge.StatusTooManyPlaces:
		recorded.Code, recorded.PlacesPerDay = fault.CodeTooManyPlaces, t.options.PlacesPerDay
	case statusNotOver:
		recorded.Code = fault.CodeInvalidField
	default:
		return Recorded{}, script.ReplyError(doing, fmt.Sprintf("status %d", status))
	}
	return recorded, in.Err
}

// recordCall builds the keys and arguments of lua.RecordSent.
func (t *Timeline) recordCall(r SentRequest, scope *judge.Scope, by judge.UserRules) ([]string, []any) {
	keys := []string{scope.Places(t.keys, r.User), t.settings(r.User)}
	args := append(by.Arguments(t.about(r.Now, r.At, scope), 7), r.ID, r.At.UnixMilli())
	if !t.options.Records {
		return keys, args
	}
	args = append(args, t.options.KeepRecords.Milliseconds(), keyspace.WatchWord(r.User, r.ID), t.scores(r.ID, r.Record.Campaign, nil),
		r.Record.Category, script.Flag(scope.Uncounted), r.Record.Generation, r.Record.Fingerprint)
	return append(keys, t.keys.Record(r.User, r.ID)), r.Record.appendOwn(args)
}
