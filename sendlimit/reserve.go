package sendlimit

import (
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
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Record is what is stored of a message, besides its place.
type Record struct {
	// Generation is a random token for this call only, see keyspace.NewToken. Only a task with the
	// same token may deliver the message.
	Generation string
	// Fingerprint distinguishes a repeated request from another one with the same id.
	Fingerprint string
	// ExpiresAt is when the message is dropped instead of sent; zero means the gate's default. It
	// may be at most ExpiryBeyondReach later than the last accepted send time, else the code is
	// CodeInvalidField: the user's timeline is kept until then.
	ExpiresAt time.Time
	Category  string
	Content   []byte // opaque; erased when the message ends
	// Campaign is 1 to 64 of a-z A-Z 0-9 . _ - or "". No rule depends on it.
	Campaign string
	// Metadata is opaque. It is kept as long as the record.
	Metadata []byte
	// Local is at most 96 bytes long; "" for none. It says how the send time was read from a local
	// time, or chosen in a window. It is opaque, unless it begins with "f time zone" or "d time zone":
	// then the message keeps the local time, read in this zone of the user's own or in a default, and
	// a Gate does not send it while the user's own zone is another one. A move removes it, unless the
	// move has a Reason. Requests that differ only in Local are the same request.
	Local string
	// Trace is opaque, at most MaxTrace bytes long; nil for none. It names the trace of the submit,
	// so that a delivery can link to it. It is kept as long as the record. Requests that differ
	// only in Trace are the same request.
	Trace []byte
}

// The maximum lengths of Record.Trace and Record.Local. A value of more than 64 bytes prevents Redis'
// compact encoding of the record. Only a message that keeps its local time, with a local expiry and
// in a zone with a long name, may have one.
const (
	MaxTrace = 64
	maxLocal = 96
)

// appendOwn appends the fields and values that a record keeps after its end.
func (r *Record) appendOwn(args []any) []any {
	if r.Campaign != "" {
		args = append(args, keyspace.RecordCampaign, r.Campaign)
	}
	if r.Local != "" {
		args = append(args, keyspace.RecordLocal, r.Local)
	}
	return keyspace.AppendMetadata(args, r.Metadata)
}

// ExpiryBeyondReach is how much later than the reach of send times a message may expire.
const ExpiryBeyondReach = 31 * calendar.DayLong

// Reserve takes the requested place, with Shift the next free time, or a time of a Window. A refusal
// says why, and writes nothing. A repeated request returns the first answer, marked Replayed. With
// Replace it replaces the pending message with the id.
func (t *Timeline) Reserve(ctx context.Context, r Request) (Decision, error) {
	const doing = "reserving a place"
	if r.Window != nil {
		return t.InWindow(ctx, r, t.Reserve)
	}
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
		return Decision{}, &fault.InvalidError{Field: "search_from", Value: r.SearchFrom.String(), Want: "none without a shift"}
	}
	if err := r.Hold.check(t.options.Records); err != nil {
		return Decision{}, err
	}
	d, err := r.inTime(t.decide(ctx, r, doing, lua.Reserve, t.reserveCall))
	if d.Replaced {
		t.subscribers().Note(r.User)
	}
	return d, err
}

// Check returns what Reserve would answer, and writes nothing. It reads only the Fingerprint, the
// Category and the expiry of a Record.
func (t *Timeline) Check(ctx context.Context, r Request) (Decision, error) {
	const doing = "checking a time"
	if r.Window != nil {
		return t.InWindow(ctx, r, t.Check)
	}
	r, err := t.checked(r)
	if err != nil {
		return Decision{}, err
	}
	r.Valid = nil
	return r.inTime(t.decide(ctx, r, doing, lua.Check, t.checkCall))
}

// checked validates a request and copies the category between request and record if one of them has
// none.
func (t *Timeline) checked(r Request) (Request, error) {
	if err := keyspace.CheckMessage(r.User, r.ID); err != nil {
		return r, err
	}
	if err := keyspace.CheckCategory(r.Category); err != nil {
		return r, err
	}
	if r.Record != nil {
		if err := keyspace.CheckCategory(r.Record.Category); err != nil {
			return r, err
		}
	}
	if err := t.options.checkShare(r.Share); err != nil {
		return r, err
	}
	switch {
	case t.options.Records && r.Record == nil:
		return r, &fault.InvalidError{Field: "record", Value: "", Want: "a record: this timeline keeps them"}
	case !t.options.Records && r.Record != nil:
		return r, &fault.InvalidError{Field: "record", Value: r.Record.Generation, Want: "none: this timeline keeps places only"}
	case r.Replace != nil && r.Record == nil:
		return r, &fault.InvalidError{Field: "replace", Value: r.ID, Want: "none: this timeline keeps places only"}
	case r.Record == nil || r.Record.Category == r.Category:
		return r, nil
	case r.Category == "":
		r.Category = r.Record.Category
	case r.Record.Category == "":
		record := *r.Record
		record.Category = r.Category
		r.Record = &record
	default:
		return r, &fault.InvalidError{
			Field: "category", Value: r.Category,
			Want: fmt.Sprintf("the same as the record's, which is %q", r.Record.Category),
		}
	}
	return r, nil
}

func checkLocal(local string) error {
	if len(local) <= maxLocal {
		return nil
	}
	return &fault.InvalidError{
		Field: "local", Value: strconv.Itoa(len(local)) + " bytes", Want: fmt.Sprintf("at most %d bytes", maxLocal),
	}
}

func checkRecord(r *Record) error {
	if err := keyspace.CheckCampaign(r.Campaign); err != nil {
		return err
	}
	if err := checkLocal(r.Local); err != nil {
		return err
	}
	if len(r.Trace) > MaxTrace {
		return &fault.InvalidError{
			Field: "trace", Value: strconv.Itoa(len(r.Trace)) + " bytes", Want: fmt.Sprintf("at most %d bytes", MaxTrace),
		}
	}
	return keyspace.CheckToken("generation", r.Generation)
}

// reserveCall builds the keys and arguments of lua.Reserve.
func (t *Timeline) reserveCall(r Request, by judge.UserRules, resume any) ([]string, []any) {
	set, scope := by.Rules, by.Rules.Scope(r.Category)
	about := t.about(r.Now, r.At, scope)
	about.Share = r.Share
	bounds := r.bounds()
	if t.options.Records && !scope.Covers(r.Hold.throttle()) {
		bounds, r.SearchFrom = holdsNothing, time.Time{}
	}
	args := append(by.Arguments(about, 32), r.ID, script.Milliseconds(r.At), t.choice(r, set, resume, bounds))
	if r.At.IsZero() {
		args = append(args, "", "", "")
	} else {
		at := r.At.UnixMilli()
		first, last := any(""), any("")
		if resume == any("") && !set.Shares(r.Share) && by.Accepts(scope, r.Share.Account) && !scope.QuietAt(at) {
			first, last = scope.Span(at)
		}
		args = append(args, first, last, max(at+by.Keep(r.Now).Milliseconds(), t.expiry(r, at)))
	}
	keys := []string{scope.Places(t.keys, r.User), t.settings(r.User)}
	if !t.options.Records {
		return keys, args
	}
	rec := r.Record
	args = append(args, t.delays, keyspace.WatchWord(r.User, r.ID), t.scores(r.ID, rec.Campaign, r.Hold), rec.Generation, rec.Fingerprint)
	if !rec.ExpiresAt.IsZero() {
		args = append(args, keyspace.RecordExpiresAt, rec.ExpiresAt.UnixMilli())
	}
	if rec.Category != "" {
		args = append(args, keyspace.RecordCategory, rec.Category)
	}
	args = rec.appendOwn(keyspace.AppendContent(args, rec.Content))
	if scope.Uncounted {
		args = append(args, keyspace.RecordUncounted, 1)
	}
	if len(rec.Trace) > 0 {
		args = append(args, keyspace.RecordTrace, rec.Trace)
	}
	if r.Hold != nil {
		args = append(args, keyspace.RecordCharge, r.Hold.charge())
	}
	return append(keys, t.keys.Record(r.User, r.ID)), args
}

// scores returns the scores of a message in the index, as lua/fragments/scores.lua reads them.
// Copies of a dry run get no entry.
func (t *Timeline) scores(id, campaign string, charged *Hold) any {
	switch {
	case t.copyOf != nil || t.options.WithoutIndex && campaign == "":
		return ""
	case campaign == "":
		return keyspace.IDScore(id)
	}
	account, score := "", script.NoValue
	if charged != nil {
		account = charged.Account
	}
	if !t.options.WithoutIndex {
		score = strconv.FormatInt(keyspace.IDScore(id), 10)
	}
	return score + " " + strconv.FormatInt(keyspace.CampaignScore(account, campaign), 10)
}

// expiry returns when the message of a request expires at the latest, Unix ms; 0 without a record.
// The place must stay until then.
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

func (t *Timeline) checkCall(r Request, by judge.UserRules, resume any) ([]string, []any) {
	scope := by.Rules.Scope(r.Category)
	about := t.about(r.Now, r.At, scope)
	about.Share = r.Share
	args := append(by.Arguments(about, 6), r.ID, script.Milliseconds(r.At), t.choice(r, by.Rules, resume, noBounds))
	keys := []string{scope.Places(t.keys, r.User), t.settings(r.User)}
	if t.options.Records {
		keys = append(keys, t.keys.Record(r.User, r.ID))
		args = append(args, r.Record.Fingerprint, script.Milliseconds(r.Record.ExpiresAt))
	}
	return keys, args
}

// choice returns how the time of a request may be chosen, as lua/fragments/choice.lua reads it:
// where a shift continues, within which bounds, and which message may be replaced.
func (t *Timeline) choice(r Request, set *judge.Ruleset, resume any, bounds string) any {
	last, searchFrom, spread := script.NoValue, script.NoValue, ""
	switch {
	case !r.shifts(set) && r.WithoutFreeTimes:
		last = "-"
	case !r.shifts(set) && bounds == noBounds && r.Replace == nil:
		return ""
	case !r.shifts(set):
	default:
		last, searchFrom, spread = strconv.FormatInt(r.shift().Last(), 10), script.Word(r.SearchFrom), r.spread(set)
	}
	if last == "-" && bounds == noBounds && r.Replace == nil {
		return last
	}
	continues := script.NoValue
	if at, goesOn := resume.(int64); goesOn {
		continues = strconv.FormatInt(at, 10)
	}
	return last + " " + continues + " " + bounds + " " + searchFrom + spread + r.Replace.words(t, r.Hold)
}

// shift returns the request as a shift.
func (r Request) shift() judge.Shift {
	return judge.Shift{Account: r.Share.Account, User: r.User, ID: r.ID, Category: r.Category, At: r.At, Until: r.ShiftUntil}
}

// spread returns the spread of a shift after a space; "" for none.
func (r Request) spread(set *judge.Ruleset) string {
	if spread := set.Spread(r.shift()); spread != "" && !r.WithoutSpread {
		return " " + spread
	}
	return ""
}

// missed reports whether a shift was refused although the refusal names a time that it may have.
// That time became free during a search of several calls. With a hold, the caller continues there.
func (r Request) missed(d Decision, set *judge.Ruleset) bool {
	return !d.Allowed && r.Hold == nil && r.shifts(set) && !d.NextFree.IsZero() &&
		(r.ShiftUntil.IsZero() || !d.NextFree.After(r.ShiftUntil))
}

// shifts reports whether a request takes the next free time if its own is refused.
func (r Request) shifts(set *judge.Ruleset) bool {
	return r.Shift || r.ByPolicy && set.Policy.OnConflict == policy.Shift
}
