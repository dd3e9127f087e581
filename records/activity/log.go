package activity

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// MinuteKept is how long the counts of a minute are kept after its start.
	MinuteKept = 26 * time.Hour
	// HourKept is MinuteKept for an hour.
	HourKept = 32 * 24 * time.Hour
	// DayKept is MinuteKept for a day of an account.
	DayKept = 8 * 24 * time.Hour
	// MaxLabels is how many labels a process counts in an hour, of all messages together.
	MaxLabels = 64
	// Other replaces the labels beyond MaxLabels.
	Other = "other"
)

// Zones returns the current time zone of an account's days. After an error the account's counts
// wait for the next flush.
type Zones func(ctx context.Context, account string) (*time.Location, error)

// Log counts outcomes of messages in memory, without round trips. Call Flush about once a second
// and at the end. Each method takes the account of the message, "" for none.
//
// A nil *Log is valid and counts nothing. It is safe for concurrent use.
type Log struct {
	client redis.Cmdable
	keys   keyspace.Keys
	zones  Zones

	turn    chan struct{} // guards pending and Flush; a mutex would not stop waiting when its context ends
	pending []batch       // may be written already

	mu       sync.Mutex       // guards the fields below
	all      spans            // by minute
	accounts map[string]spans // by quarter of an hour, since days begin at one in every zone
	hour     int64            // of labels
	labels   map[string]bool  // fields
	flushed  fields           // of all accounts, since the last TakeFlushed
}

type (
	fields map[string]int64 // by the field of the HASH
	spans  map[int64]fields // by start, Unix s
)

func (f fields) add(others fields) {
	for field, count := range others {
		f[field] += count
	}
}

func (s spans) at(start int64) fields {
	if s[start] == nil {
		s[start] = make(fields)
	}
	return s[start]
}

const minute, quarter, hour = 60, 15 * 60, 60 * 60 // seconds

// New returns an empty Log. If zones is nil, all days are in UTC.
func New(client redis.Cmdable, keys keyspace.Keys, zones Zones) *Log {
	if zones == nil {
		zones = func(context.Context, string) (*time.Location, error) { return time.UTC, nil }
	}
	return &Log{
		client: client, keys: keys, zones: zones, turn: make(chan struct{}, 1),
		all: make(spans), accounts: make(map[string]spans), labels: make(map[string]bool), flushed: make(fields),
	}
}

// Accepted counts an accepted submit.
func (l *Log) Accepted(account string, at time.Time) { l.count(account, at, fieldAccepted) }

// Refused counts a refused submit by the label of a rule, or by code.
func (l *Log) Refused(account string, at time.Time, by string) {
	l.count(account, at, fieldRefused+by)
}

// Delivered counts a delivered message and its lateness; late reports whether that exceeds the
// tolerance.
func (l *Log) Delivered(account string, at time.Time, lateness time.Duration, late bool) {
	l.count("", at, fieldLateness+strconv.Itoa(latenessSpan(lateness)))
	l.count(account, at, fieldDelivered)
	if late {
		l.count(account, at, fieldLate)
	}
}

// Dropped counts a message that ended unsent.
func (l *Log) Dropped(account string, at time.Time, reason string) {
	l.count(account, at, fieldDropped+reason)
}

// Failed counts a message that was given up: it failed, or may or may not have arrived.
func (l *Log) Failed(account string, at time.Time, reason string) {
	l.count(account, at, fieldFailed+reason)
}

// Postponed counts a late message that got a later time.
func (l *Log) Postponed(at time.Time) { l.count("", at, fieldPostponed) }

// Cancelled counts a cancelled message.
func (l *Log) Cancelled(account string, at time.Time) { l.count(account, at, fieldCancelled) }

// Retried counts a dead letter that waits again.
func (l *Log) Retried(account string, at time.Time) { l.count(account, at, fieldRetried) }

func (l *Log) count(account string, at time.Time, field string) {
	if l == nil {
		return
	}
	seconds := at.Unix()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.at(seconds - seconds%minute)[l.known(seconds/hour, field)]++
	if account == "" {
		return
	}
	if l.accounts[account] == nil {
		l.accounts[account] = make(spans)
	}
	l.accounts[account].at(seconds - seconds%quarter)[field]++
}

// known returns a field with its label, or with Other if the hour has too many labels.
func (l *Log) known(of int64, field string) string {
	kind, label, labelled := strings.Cut(field, ":")
	if kind += ":"; !labelled || kind == fieldLateness {
		return field
	}
	if of != l.hour {
		l.hour = of
		clear(l.labels)
	}
	if l.labels[field] {
		return field
	}
	if len(l.labels) >= MaxLabels || len(label) > keyspace.MaxID {
		return kind + Other
	}
	l.labels[field] = true
	return field
}

// TakeFlushed returns what this Log has flushed of all accounts since the last call.
func (l *Log) TakeFlushed() (counts Counts) {
	if l == nil {
		return Counts{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for field, count := range l.flushed {
		counts.add(field, count)
	}
	clear(l.flushed)
	return counts
}
