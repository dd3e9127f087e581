package activity

import (
	"strconv"
	"strings"
	"time"
)

// Counts says what became of messages in some time. Lateness and Postponed are not counted by
// account.
type Counts struct {
	Accepted  int64 `json:"accepted,omitempty"`  // submits
	Delivered int64 `json:"delivered,omitempty"` // late ones included
	Late      int64 `json:"late,omitempty"`      // delivered past the tolerance
	Postponed int64 `json:"postponed,omitempty"` // late messages that got a later time
	Cancelled int64 `json:"cancelled,omitempty"` // also with the erasure of a user
	Retried   int64 `json:"retried,omitempty"`   // given up before, and waiting again
	// Refused are refused submits by what refused them: the label of a rule, or a code.
	Refused map[string]int64 `json:"refused,omitempty"`
	// Dropped are messages that ended unsent, by reason.
	Dropped map[string]int64 `json:"dropped,omitempty"`
	// Failed are messages that were given up, by reason.
	Failed   map[string]int64 `json:"failed,omitempty"`
	Lateness Lateness         `json:"-"` // of the delivered ones
}

// Span has the counts of a minute, an hour or a day.
type Span struct {
	Start time.Time // UTC, or in the zone of the one who asked
	Counts
}

// Total returns the sum of counts by label.
func Total(counts map[string]int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// WaitingChange returns how many more messages waited at the end of the time than at its
// begin, negative if fewer: what was accepted and retried in it, without what ended in it.
func (c *Counts) WaitingChange() int64 {
	return c.Accepted + c.Retried - c.Delivered - Total(c.Dropped) - Total(c.Failed) - c.Cancelled
}

// Sum returns the counts of spans together.
func Sum(spans ...Span) Counts {
	var sum Counts
	for i := range spans {
		for field, count := range spans[i].plain() {
			*sum.plain()[field] += *count
		}
		for prefix, counts := range spans[i].labelled() {
			for label, count := range *counts {
				sum.add(prefix+label, count)
			}
		}
		for span, count := range spans[i].Lateness {
			sum.Lateness[span] += count
		}
	}
	return sum
}

// Fields of the HASH of a minute, an hour or a day. They are short: there are thousands of them.
const (
	fieldAccepted  = "a"
	fieldDelivered = "d"
	fieldLate      = "l"
	fieldPostponed = "p"
	fieldCancelled = "c"
	fieldRetried   = "t"
	// What follows the colon is the label or the reason, or the number of a span of the
	// lateness.
	fieldRefused  = "r:"
	fieldDropped  = "x:"
	fieldFailed   = "f:"
	fieldLateness = "h:"
)

// add adds a field of the HASH. A field of a newer program is passed over.
func (c *Counts) add(field string, count int64) {
	if plain := c.plain()[field]; plain != nil {
		*plain += count
		return
	}
	prefix, label, _ := strings.Cut(field, ":")
	prefix += ":"
	if counts := c.labelled()[prefix]; counts != nil {
		if *counts == nil {
			*counts = make(map[string]int64)
		}
		(*counts)[label] += count
	}
	if span, err := strconv.Atoi(label); prefix == fieldLateness && err == nil && span >= 0 && span < latenessSpans {
		c.Lateness[span] += count
	}
}

func (c *Counts) plain() map[string]*int64 {
	return map[string]*int64{
		fieldAccepted: &c.Accepted, fieldDelivered: &c.Delivered, fieldLate: &c.Late,
		fieldPostponed: &c.Postponed, fieldCancelled: &c.Cancelled, fieldRetried: &c.Retried,
	}
}

func (c *Counts) labelled() map[string]*map[string]int64 {
	return map[string]*map[string]int64{fieldRefused: &c.Refused, fieldDropped: &c.Dropped, fieldFailed: &c.Failed}
}
