package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Stats counts what becomes of accounts' messages, by account and natural day of
// the account. Counting happens in memory and costs no round trip. Call Flush
// regularly and at the end; a process that is killed loses what it has not
// flushed.
//
// A nil *Stats is valid and counts nothing. It is safe for concurrent use.
type Stats struct {
	client redis.Cmdable
	keys   keyspace.Keys

	mu      sync.Mutex // over counted
	counted map[statsDay]map[string]int64

	flushing sync.Mutex // over pending
	pending  []statsBatch
}

// statsDay is a day of an account, by its start in Unix ms.
type statsDay struct {
	account string
	start   int64
}

// statsBatch is what to add to a day. Its token makes it count once.
type statsBatch struct {
	statsDay

	token  string
	counts map[string]int64
}

// Day has the numbers of an account on one day.
type Day struct {
	Sent      int64 `json:"sent"`      // late ones included
	Late      int64 `json:"late"`      // sent past the tolerance
	Dropped   int64 `json:"dropped"`   // too late to be sent
	Failed    int64 `json:"failed"`    // given up: the provider refused it, or it may have arrived
	Cancelled int64 `json:"cancelled"` // also with the erasure of a user
	Accepted  int64 `json:"accepted"`  // submits
	Retried   int64 `json:"retried"`   // given up before, and waiting again
	// Refused counts refused submits by what refused them: the first rule of the
	// violations, or the code.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// WaitingChange returns how many more messages waited at the end of the day than at its
// begin, negative if fewer: what was accepted and retried on it, without what ended on it.
func (d Day) WaitingChange() int64 {
	return d.Accepted + d.Retried - d.Sent - d.Dropped - d.Failed - d.Cancelled
}

// Kept is how long the numbers of a day are kept after its start.
const Kept = 8 * 24 * time.Hour

// Fields of the HASH.
const (
	statSent      = "sent"
	statLate      = "late"
	statDropped   = "dropped"
	statFailed    = "failed"
	statCancelled = "cancelled"
	statAccepted  = "accepted"
	statRetried   = "retried"
	statRefused   = "refused:" // followed by what refused it
	callsField    = "_"        // the tokens of the last calls that added to it
)

// New returns Stats that have counted nothing yet. Its keys begin with prefix; ""
// means keyspace.DefaultPrefix. The error is an *InvalidError.
func New(client redis.Cmdable, prefix string) (*Stats, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Stats{client: client, keys: keys, counted: make(map[statsDay]map[string]int64)}, nil
}

// Sent counts a message that was sent at a time; zone is the account's.
func (s *Stats) Sent(account string, zone *time.Location, at time.Time, late bool) {
	s.count(account, zone, at, statSent)
	if late {
		s.count(account, zone, at, statLate)
	}
}

// Dropped counts a message that ended unsent, as it was too late.
func (s *Stats) Dropped(account string, zone *time.Location, at time.Time) {
	s.count(account, zone, at, statDropped)
}

// Failed counts a message that was given up: it failed for good, or it may or may not have
// arrived.
func (s *Stats) Failed(account string, zone *time.Location, at time.Time) {
	s.count(account, zone, at, statFailed)
}

// Cancelled counts a message that was cancelled.
func (s *Stats) Cancelled(account string, zone *time.Location, at time.Time) {
	s.count(account, zone, at, statCancelled)
}

// Retried counts a message that was given up before and waits again.
func (s *Stats) Retried(account string, zone *time.Location, at time.Time) {
	s.count(account, zone, at, statRetried)
}

// Accepted counts a submit that was accepted at a time, whatever its send time.
func (s *Stats) Accepted(account string, zone *time.Location, at time.Time) {
	s.count(account, zone, at, statAccepted)
}

// Refused counts a submit that was refused by a rule, as text, or by a code.
func (s *Stats) Refused(account string, zone *time.Location, at time.Time, by string) {
	s.count(account, zone, at, statRefused+by)
}

func (s *Stats) count(account string, zone *time.Location, at time.Time, what string) {
	if s == nil || account == "" {
		return
	}
	day := statsDay{account, calendar.DayStart(at, zone).UnixMilli()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counted[day] == nil {
		s.counted[day] = make(map[string]int64)
	}
	s.counted[day][what]++
}

// Flush writes what was counted. What it could not write stays for the next call;
// what was written is not written twice, even if the reply got lost.
func (s *Stats) Flush(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	for day, counts := range s.counted {
		s.pending = append(s.pending, statsBatch{day, keyspace.NewToken(), counts})
	}
	clear(s.counted)
	s.mu.Unlock()
	var failed error
	var left []statsBatch
	for i, b := range s.pending {
		if ctx.Err() != nil {
			left = append(slices.Clone(s.pending[i:]), left...) // these come first next time
			failed = cmp.Or(failed, store.Explain(ctx.Err(), "writing the numbers of accounts"))
			break
		}
		// The node of one account may be away, and that of another not.
		if err := s.write(ctx, b); err != nil {
			left = append(left, b)
			if failed == nil {
				failed = err
			}
		}
	}
	s.pending = left
	return failed
}

func (s *Stats) write(ctx context.Context, b statsBatch) error {
	const doing = "writing the numbers of an account"
	counts, err := json.Marshal(b.counts)
	if err != nil {
		return store.Explain(err, doing) // never: they are numbers
	}
	answer, err := script.Run(ctx, s.client, lua.StatsAdd, doing, []string{s.keys.Stats(b.account, b.start)},
		[]any{b.token, b.start + Kept.Milliseconds(), counts})
	if err != nil {
		return err
	}
	_, err = script.Yes(script.Read(answer, doing))
	return err
}

// Read returns the numbers of an account on the natural day that begins at a
// time, as far as processes have flushed them.
func (s *Stats) Read(ctx context.Context, account string, day time.Time) (Day, error) {
	const doing = "reading the numbers of an account"
	if !accounts.ValidName(account) {
		return Day{}, &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	values, err := s.client.HGetAll(ctx, s.keys.Stats(account, day.UnixMilli())).Result()
	if err != nil {
		return Day{}, store.Explain(err, doing)
	}
	var a Day
	var wrong error
	fields := map[string]*int64{
		statSent: &a.Sent, statLate: &a.Late, statDropped: &a.Dropped, statFailed: &a.Failed, statCancelled: &a.Cancelled,
		statAccepted: &a.Accepted, statRetried: &a.Retried,
	}
	for _, what := range slices.Sorted(maps.Keys(values)) {
		n, err := strconv.ParseInt(values[what], 10, 64)
		by, refused := strings.CutPrefix(what, statRefused)
		switch {
		case what == callsField:
			continue
		case err != nil:
			wrong = errors.Join(wrong, script.ReplyError(doing, fault.Clip(what)+" is no number"))
		case fields[what] != nil:
			*fields[what] = n
		case refused:
			if a.Refused == nil {
				a.Refused = make(map[string]int64)
			}
			a.Refused[by] = n
		}
	}
	return a, wrong
}
