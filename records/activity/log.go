package activity

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/tally"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// MinuteKept is how long the counts of a minute are kept after its start.
	MinuteKept = 26 * time.Hour
	// HourKept is MinuteKept for an hour.
	HourKept = 32 * 24 * time.Hour
	// MostLabels is how many labels a process counts in an hour.
	MostLabels = 64
	// Other is the label of what has another one.
	Other = "other"
)

// remembered is how much is stored of the tokens of calls, bytes: about 150 calls of all
// processes. A repeated one comes a second or two later.
const remembered = 2048

// Log counts what becomes of messages. Counting happens in memory and costs no round trip.
// Call Flush about once a second and at the end.
//
// A nil *Log is valid and counts nothing. It is safe for concurrent use.
type Log struct {
	client redis.Cmdable
	keys   keyspace.Keys
	writer *tally.Writer

	mu      sync.Mutex // over what follows
	minutes map[int64]*Counts
	last    int64   // the minute of current
	current *Counts // of the last call; nil after a Flush
	hour    int64   // of labels
	labels  map[label]bool
	flushed Counts // by this Log, since the last call of TakeFlushed
}

// label is a label of refusals, drops or failures.
type label struct{ kind, text string }

// New returns a Log that has counted nothing yet. Its keys begin with prefix; "" means
// keyspace.DefaultPrefix. The error is a *fault.InvalidError.
func New(client redis.Cmdable, prefix string) (*Log, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Log{
		client: client, keys: keys, minutes: make(map[int64]*Counts), labels: make(map[label]bool),
		writer: tally.NewWriter(client, "writing what became of messages", remembered),
	}, nil
}

// Accepted counts an accepted submit.
func (l *Log) Accepted(at time.Time) {
	l.count(at, func(c *Counts) { c.Accepted++ })
}

// Refused counts a refused submit by what refused it: the label of a rule, or a code.
func (l *Log) Refused(at time.Time, by string) {
	l.count(at, func(c *Counts) { addLabel(&c.Refused, l.known(fieldRefused, by), 1) })
}

// Delivered counts a delivered message and its lateness; late says whether that was past the
// tolerance.
func (l *Log) Delivered(at time.Time, lateness time.Duration, late bool) {
	l.count(at, func(c *Counts) {
		c.Delivered++
		if late {
			c.Late++
		}
		c.Lateness.Add(lateness)
	})
}

// Dropped counts a message that ended unsent.
func (l *Log) Dropped(at time.Time, reason string) {
	l.count(at, func(c *Counts) { addLabel(&c.Dropped, l.known(fieldDropped, reason), 1) })
}

// Failed counts a message that was given up: it failed for good, or it may or may not have
// arrived.
func (l *Log) Failed(at time.Time, reason string) {
	l.count(at, func(c *Counts) { addLabel(&c.Failed, l.known(fieldFailed, reason), 1) })
}

// Postponed counts a late message that got a later time.
func (l *Log) Postponed(at time.Time) {
	l.count(at, func(c *Counts) { c.Postponed++ })
}

// Cancelled counts a cancelled message.
func (l *Log) Cancelled(at time.Time) {
	l.count(at, func(c *Counts) { c.Cancelled++ })
}

// count has the counts of a minute changed.
func (l *Log) count(at time.Time, change func(*Counts)) {
	if l == nil {
		return
	}
	minute := at.Unix() / 60
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil || l.last != minute {
		counts := l.minutes[minute]
		if counts == nil {
			counts = new(Counts)
			l.minutes[minute] = counts
		}
		l.last, l.current = minute, counts
	}
	change(l.current)
}

// known returns a label, or Other if it is one too many in the hour of the current minute.
func (l *Log) known(kind, text string) string {
	if hour := l.last / 60; hour != l.hour {
		l.hour = hour
		clear(l.labels)
	}
	one := label{kind, text}
	if l.labels[one] {
		return text
	}
	if len(l.labels) >= MostLabels || len(text) > keyspace.MaxID {
		return Other
	}
	l.labels[one] = true
	return text
}

// Flush writes what was counted. What it could not write stays for the next call; what was
// written is not written twice, even if the reply got lost.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	return l.writer.Write(ctx, l.take)
}

// TakeFlushed returns what this Log alone counted until the last Flush, and was not yet
// returned.
func (l *Log) TakeFlushed() Counts {
	if l == nil {
		return Counts{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.flushed
	l.flushed = Counts{}
	return counts
}

// take returns what was counted since the last call.
func (l *Log) take() []tally.Batch {
	l.mu.Lock()
	minutes := l.minutes
	l.minutes, l.current = make(map[int64]*Counts), nil
	for _, counts := range minutes {
		l.flushed.merge(counts)
	}
	l.mu.Unlock()
	if len(minutes) == 0 {
		return nil
	}
	hours := make(map[int64]*Counts)
	batch := tally.Batch{Calls: l.keys.ActivityCalls()}
	add := func(key string, start time.Time, kept time.Duration, counts *Counts) {
		batch.Numbers = append(batch.Numbers, tally.Numbers{Key: key, Expires: start.Add(kept).UnixMilli(), Counts: counts.fields()})
	}
	for minute, counts := range minutes {
		if hours[minute/60] == nil {
			hours[minute/60] = new(Counts)
		}
		hours[minute/60].merge(counts)
		start := time.Unix(minute*60, 0)
		add(l.keys.ActivityMinute(start), start, MinuteKept, counts)
	}
	for hour, counts := range hours {
		start := time.Unix(hour*3600, 0)
		add(l.keys.ActivityHour(start), start, HourKept, counts)
	}
	return []tally.Batch{batch}
}
