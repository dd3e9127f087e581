package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The defaults of Options, and their bounds.
const (
	DefaultMost     = 5_000
	DefaultRefusals = 500
	DefaultKeep     = 400 * calendar.DayLong

	// RefusalsPerMinute is how many refusals of an account get an entry in a minute.
	RefusalsPerMinute = 20

	maxMost = 10_000_000
	minKeep = time.Minute
	maxKeep = 10 * 366 * calendar.DayLong
)

// Options configures a Log. All programs on a store have the same options.
type Options struct {
	Prefix   string        // of every key; "" means DefaultPrefix
	Most     int           // kept entries of each account, 1 to 10 million; zero means DefaultMost. Operators have no bound.
	Refusals int           // kept refusals of each account, and of all operators; zero means DefaultRefusals
	Keep     time.Duration // of an entry, 1 minute to 10 years; zero means DefaultKeep
}

// Log is the log of changes. Its methods return an *UnavailableError if Redis does not answer, an
// *InvalidError for an argument that is not allowed, and fault.ErrReply for an invalid reply. It is
// safe for concurrent use, by any number of processes.
type Log struct {
	client  redis.Cmdable
	keys    keyspace.Keys
	options Options // complete
}

// New returns the log of a store. The error is an *InvalidError.
func New(client redis.Cmdable, o Options) (*Log, error) {
	o.Most, o.Refusals, o.Keep = cmp.Or(o.Most, DefaultMost), cmp.Or(o.Refusals, DefaultRefusals), cmp.Or(o.Keep, DefaultKeep)
	switch {
	case o.Most < 1 || o.Most > maxMost:
		return nil, &fault.InvalidError{Field: "most", Value: strconv.Itoa(o.Most), Want: "1 to 10,000,000"}
	case o.Refusals < 1 || o.Refusals > maxMost:
		return nil, &fault.InvalidError{Field: "refusals", Value: strconv.Itoa(o.Refusals), Want: "1 to 10,000,000"}
	case o.Keep < minKeep || o.Keep > maxKeep:
		return nil, &fault.InvalidError{Field: "keep", Value: o.Keep.String(), Want: "1 minute to 3,660 days"}
	}
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	return &Log{client: client, keys: keys, options: o}, nil
}

// Begin adds an entry about a change, and returns it with its id. Call it before the change, and
// make no change if it fails. It ignores ID, At and the fields that End sets.
func (l *Log) Begin(ctx context.Context, e Entry) (Entry, error) {
	const doing = "beginning an entry of the log of changes"
	if e.Action == "" {
		return Entry{}, &fault.InvalidError{Field: "action", Value: "", Want: "what is changed, in words"}
	}
	e.Erased = false
	text, err := e.text()
	if err != nil {
		return Entry{}, err
	}
	keys := []string{l.keys.AuditIDs(), l.keys.AuditEntries(), l.keys.AuditOwn(e.whose()), l.keys.AuditBegun(keyspace.NewToken())}
	in := script.Call(ctx, l.client, lua.AuditBegin, doing, keys, []any{"", text, l.options.Keep.Milliseconds()})
	if e.ID = in.String(0); in.Err == nil && !ValidID(e.ID) {
		in.Fail(0, "id of an entry")
	}
	return e, in.Err
}

// End records the outcome of a change: Done, Refused or Failed, the last two with the caller's code
// and sentence. It does nothing if the change has ended already, or the entry is no longer kept.
// Only the first RefusalsPerMinute refusals of a minute keep their entries, and at most
// Options.Refusals.
func (l *Log) End(ctx context.Context, e Entry, outcome, code, answer string) error {
	const doing = "ending an entry of the log of changes"
	if err := checkID("id", e.ID); err != nil {
		return err
	}
	if !slices.Contains([]string{Done, Refused, Failed}, outcome) {
		return &fault.InvalidError{Field: "outcome", Value: outcome, Want: "done, refused or failed"}
	}
	code = strings.Join(strings.Fields(cut(code, MaxName)), "_")
	whose, most := e.whose(), l.options.Most
	if whose == "" {
		most = 0
	}
	keys := []string{l.keys.AuditIDs(), l.keys.AuditEntries(), l.keys.AuditOwn(whose), l.keys.AuditRefusals(whose)}
	_, err := script.Yes(script.Call(ctx, l.client, lua.AuditEnd, doing, keys, []any{
		"", e.ID, outcome, code, cut(answer, MaxAnswer), most, l.options.Refusals, min(RefusalsPerMinute, l.options.Refusals), l.options.Keep.Milliseconds(),
	}))
	return err
}

// Filter selects entries. The zero value selects all.
type Filter struct {
	// Account selects changes by this account and of its property; "" for any.
	Account string
	// User, Action and Object select equal values; "" selects any.
	User, Action, Object string
	From, Until          time.Time // of Entry.At, Until exclusive; zero for no bound
}

func (f Filter) selects(e Entry) bool {
	return (f.Account == "" || e.Account == f.Account || e.Owner == f.Account) && (f.User == "" || e.User == f.User) &&
		(f.Action == "" || e.Action == f.Action) && (f.Object == "" || e.Object == f.Object) &&
		!e.At.Before(f.From) && (f.Until.IsZero() || e.At.Before(f.Until))
}

const (
	// MaxPage is the maximum length of a Page.
	MaxPage = 500
	// LookedAt is how many entries a Page reads at most.
	LookedAt = 1000

	atOnce = 250 // entries that a round trip reads
)

// Page returns at most limit selected entries before a cursor, the newest first. The cursor "" is
// before the newest. next is the cursor of the following page; "" at the end. Page reads at most
// LookedAt entries: with a filter it may return few or none, and have a next cursor.
func (l *Log) Page(ctx context.Context, f Filter, before string, limit int) (list []Entry, next string, err error) {
	const doing = "reading the log of changes"
	if before != "" {
		if err := checkID("before", before); err != nil {
			return nil, "", err
		}
	}
	if limit < 1 || limit > MaxPage {
		return nil, "", &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxPage)}
	}
	first, last := "-", "+"
	if !f.From.IsZero() {
		first = "[" + beginOf(f.From)
	}
	if !f.Until.IsZero() {
		last = "(" + beginOf(f.Until)
	}
	if before != "" && (last == "+" || before < last[1:]) {
		last = "(" + before
	}
	for looked := 0; looked < LookedAt; {
		ids, found, err := l.older(ctx, first, last, doing)
		if err != nil {
			return nil, "", err
		}
		for _, e := range found {
			if !f.selects(e) {
				continue
			}
			if list = append(list, e); len(list) == limit {
				return list, e.ID, nil
			}
		}
		if len(ids) < atOnce {
			return list, "", nil
		}
		looked += len(ids)
		last = "(" + ids[len(ids)-1]
	}
	return list, last[1:], nil
}

// beginOf returns a bound before the ids of entries at or after a time.
func beginOf(at time.Time) string {
	const last = 9_999_999_999_999 // of 13 digits: in the year 2286
	return fmt.Sprintf("%013d", min(max(at.Add(time.Millisecond-1).UnixMilli(), 0), last))
}

// older reads at most atOnce entries between two bounds of ids, the newest first. Entries that were
// removed meanwhile are only in ids.
func (l *Log) older(ctx context.Context, first, last, doing string) (ids []string, found []Entry, err error) {
	ids, err = l.client.ZRevRangeByLex(ctx, l.keys.AuditIDs(), &redis.ZRangeBy{Min: first, Max: last, Count: atOnce}).Result()
	if err != nil {
		return nil, nil, store.Explain(err, doing)
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	fields := make([]string, 0, 3*len(ids))
	for _, id := range ids {
		fields = append(fields, id, keyspace.AuditEnd(id), keyspace.AuditMore(id))
	}
	values, err := l.client.HMGet(ctx, l.keys.AuditEntries(), fields...).Result()
	if err != nil {
		return nil, nil, store.Explain(err, doing)
	}
	found, err = entries(ids, values, doing)
	return ids, found, err
}

// OfUser returns all entries about a user, the newest first. It reads the whole log.
func (l *Log) OfUser(ctx context.Context, user string) ([]Entry, error) {
	var all []Entry
	for cursor := ""; ; {
		list, next, err := l.Page(ctx, Filter{User: user}, cursor, MaxPage)
		if err != nil {
			return nil, err
		}
		if all = append(all, list...); next == "" {
			return all, nil
		}
		cursor = next
	}
}

// EraseUser removes a user's name, ids of messages, details and answers from the entries about the
// user. It returns how many entries it changed. Entries that begin meanwhile may stay unchanged. It
// reads the whole log.
func (l *Log) EraseUser(ctx context.Context, user string) (int, error) {
	const doing = "erasing a user from the log of changes"
	all, err := l.OfUser(ctx, user)
	if err != nil {
		return 0, err
	}
	changed := 0
	for _, e := range all {
		text, err := e.erased().text()
		if err != nil {
			return changed, err
		}
		did, err := script.Yes(script.Call(ctx, l.client, lua.AuditErase, doing, []string{l.keys.AuditEntries()}, []any{e.ID, text}))
		if err != nil {
			return changed, err
		}
		if did {
			changed++
		}
	}
	return changed, nil
}
