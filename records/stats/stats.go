package stats

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/internal/tally"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
	writer *tally.Writer

	mu      sync.Mutex // over counted
	counted map[statsDay]map[string]int64
}

// statsDay is a day of an account, by its start in Unix ms.
type statsDay struct {
	account string
	start   int64
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
)

// remembered is how much is stored of the tokens of an account's calls, bytes: about 36
// calls. A repeated one comes soon.
const remembered = 512

// New returns Stats that have counted nothing yet. Its keys begin with prefix; ""
// means keyspace.DefaultPrefix. The error is an *InvalidError.
func New(client redis.Cmdable, prefix string) (*Stats, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Stats{
		client: client, keys: keys, counted: make(map[statsDay]map[string]int64),
		writer: tally.NewWriter(client, "writing the numbers of accounts", remembered),
	}, nil
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
	return s.writer.Write(ctx, s.take)
}

// take returns what was counted since the last call.
func (s *Stats) take() []tally.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches := make([]tally.Batch, 0, len(s.counted))
	for day, counts := range s.counted {
		batches = append(batches, tally.Batch{Calls: s.keys.StatsCalls(day.account), Numbers: []tally.Numbers{
			{Key: s.keys.Stats(day.account, day.start), Expires: day.start + Kept.Milliseconds(), Counts: counts},
		}})
	}
	clear(s.counted)
	return batches
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
