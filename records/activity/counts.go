package activity

import (
	"strconv"
	"strings"
	"time"
)

// Counts counts outcomes of messages in a span of time. Lateness and Postponed are not counted by
// account.
type Counts struct {
	Accepted  int64 `json:"accepted,omitempty"`  // submits
	Delivered int64 `json:"delivered,omitempty"` // late ones included
	Late      int64 `json:"late,omitempty"`      // delivered past the tolerance
	Postponed int64 `json:"postponed,omitempty"` // late messages that got a later time
	Cancelled int64 `json:"cancelled,omitempty"` // including those of erased users
	Retried   int64 `json:"retried,omitempty"`   // dead letters that wait again
	// Refused are refused submits by the label of a rule, or by code.
	Refused map[string]int64 `json:"refused,omitempty"`
	// Dropped are messages that ended unsent, by reason.
	Dropped map[string]int64 `json:"dropped,omitempty"`
	// Failed are messages that were given up, by reason.
	Failed   map[string]int64 `json:"failed,omitempty"`
	Lateness Lateness         `json:"-"` // of delivered messages
}

// Span has the counts of a minute, an hour or a day.
type Span struct {
	Start time.Time // UTC, or in the caller's zone
	Counts
}

// Total returns the sum of all counts.
func Total(counts map[string]int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// WaitingChange returns how many more messages waited at the end of the span than at its begin,
// negative for fewer: accepted and retried messages minus ended ones.
func (c *Counts) WaitingChange() int64 {
	return c.Accepted + c.Retried - c.Delivered - Total(c.Dropped) - Total(c.Failed) - c.Cancelled
}

// Sum returns the sum of spans.
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

// Fields of a HASH of counts. They are short because there are thousands.
const (
	fieldAccepted  = "a"
	fieldDelivered = "d"
	fieldLate      = "l"
	fieldPostponed = "p"
	fieldCancelled = "c"
	fieldRetried   = "t"
	// The label, the reason or the number of a lateness span follows the colon.
	fieldRefused  = "r:"
	fieldDropped  = "x:"
	fieldFailed   = "f:"
	fieldLateness = "h:"
)

// add adds to a field of the HASH. It ignores a field of a newer program.
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
