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

// MinKeep is the least time for which the outbox remembers an ended notice. It is
// longer than the scripts and the reports may repeat one.
const MinKeep = 48 * time.Hour

// Options configures an Outbox. The zero value means the defaults.
type Options struct {
	Prefix string // begins every key; "" means keyspace.DefaultPrefix
	// Keep is how long the outbox remembers a notice after it ended, and how long
	// a notice waits that nothing can deliver. It is at least MinKeep; zero means
	// DefaultKeep.
	Keep time.Duration
	// Attempts is the number of deliveries that may end without a settlement, as a
	// worker died, before the notice fails; zero means DefaultAttempts.
	Attempts int
	// OverdueAfter is how long after its time a notice is due that the queue has;
	// zero means DefaultOverdueAfter.
	OverdueAfter time.Duration
	// SettleWithin is for how long a delivery may still settle after its lease, while the
	// store answers. Then another delivery takes the notice over. Zero means at once.
	SettleWithin time.Duration
	// Ahead is for a cluster, whose masters have clocks of their own. The common clock is that of
	// the times which Due gets and returns.
	Ahead keyspace.Ahead
}

func (o Options) withDefaults() Options {
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.OverdueAfter = cmp.Or(o.OverdueAfter, DefaultOverdueAfter)
	return o
}

// validate checks options that have their defaults.
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
