package notices

import (
	"cmp"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Defaults of Options.
const (
	DefaultKeep         = 7 * calendar.DayLong
	DefaultAttempts     = 8
	DefaultOverdueAfter = time.Minute
)

// MinKeep is the minimum time for which the outbox keeps an ended notice. It is longer than scripts
// and reports may repeat one.
const MinKeep = 48 * time.Hour

// Options configures an Outbox. The zero value means the defaults.
type Options struct {
	Prefix string // of every key; "" means keyspace.DefaultPrefix
	// Keep is how long the outbox keeps an ended notice, and how long a notice waits that can't be
	// delivered. It is at least MinKeep; zero means DefaultKeep.
	Keep time.Duration
	// Attempts is how many deliveries may end without a settlement, because a worker died, before
	// the notice fails; zero means DefaultAttempts.
	Attempts int
	// OverdueAfter is how long after its time a notice in the queue is due; zero means
	// DefaultOverdueAfter.
	OverdueAfter time.Duration
	// SettleWithin is how long a delivery may still settle after its lease, while the store
	// answers. Then another delivery takes the notice over. Zero means at once.
	SettleWithin time.Duration
	// Ahead is for a cluster, whose masters have different clocks. Times of Due are those of the
	// common clock.
	Ahead keyspace.Ahead
}

func (o Options) withDefaults() Options {
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.OverdueAfter = cmp.Or(o.OverdueAfter, DefaultOverdueAfter)
	return o
}

// validate checks options with defaults.
func (o Options) validate() error {
	switch {
	case o.Keep < time.Minute:
		return &fault.InvalidError{Field: "keep_records", Value: o.Keep.String(), Want: "at least 1 minute"}
	case o.Attempts < 1:
		return &fault.InvalidError{Field: "max_attempts", Value: strconv.Itoa(o.Attempts), Want: "at least 1"}
	case o.OverdueAfter < time.Millisecond:
		return &fault.InvalidError{Field: "overdue_after", Value: o.OverdueAfter.String(), Want: "at least 1 ms"}
	case o.SettleWithin < 0:
		return &fault.InvalidError{Field: "settle_within", Value: o.SettleWithin.String(), Want: "at least 0"}
	}
	return nil
}
