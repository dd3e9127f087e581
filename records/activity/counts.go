package activity

import (
	"strconv"
	"strings"
	"time"
)

// Counts says what became of messages in some time.
type Counts struct {
	Accepted  int64 // submits
	Delivered int64 // late ones included
	Late      int64 // delivered past the tolerance
	Postponed int64 // late messages that got a later time
	Cancelled int64
	// Refused are refused submits by what refused them: the label of a rule, or a code.
	Refused map[string]int64
	// Dropped are messages that ended unsent, by reason.
	Dropped map[string]int64
	// Failed are messages that were given up, by reason.
	Failed   map[string]int64
	Lateness Lateness // of the delivered ones
}

// Span has the counts of a minute or an hour.
type Span struct {
	Start time.Time // UTC
	Counts
}

// Sum returns the counts of spans together.
func Sum(spans ...Span) Counts {
	var sum Counts
	for i := range spans {
		sum.merge(&spans[i].Counts)
	}
	return sum
}

// merge adds other counts.
func (c *Counts) merge(o *Counts) {
	c.Accepted += o.Accepted
	c.Delivered += o.Delivered
	c.Late += o.Late
	c.Postponed += o.Postponed
	c.Cancelled += o.Cancelled
	mergeLabels(&c.Refused, o.Refused)
	mergeLabels(&c.Dropped, o.Dropped)
	mergeLabels(&c.Failed, o.Failed)
	for span, count := range o.Lateness {
		c.Lateness[span] += count
	}
}

func mergeLabels(into *map[string]int64, counts map[string]int64) {
	for label, count := range counts {
		addLabel(into, label, count)
	}
}

func addLabel(into *map[string]int64, label string, count int64) {
	if *into == nil {
		*into = make(map[string]int64)
	}
	(*into)[label] += count
}

// Fields of the HASH of a minute or an hour. They are short: there are thousands of them.
const (
	fieldAccepted  = "a"
	fieldDelivered = "d"
	fieldLate      = "l"
	fieldPostponed = "p"
	fieldCancelled = "c"
	// What follows the colon is the label or the reason, or the number of a span of the
	// lateness.
	fieldRefused  = "r:"
	fieldDropped  = "x:"
	fieldFailed   = "f:"
	fieldLateness = "h:"
)

// fields returns what is not zero, by the fields of the HASH.
func (c *Counts) fields() map[string]int64 {
	fields := make(map[string]int64)
	for field, count := range c.plain() {
		if *count != 0 {
			fields[field] = *count
		}
	}
	for prefix, counts := range c.labelled() {
		for label, count := range *counts {
			fields[prefix+label] = count
		}
	}
	for span, count := range c.Lateness {
		if count != 0 {
			fields[fieldLateness+strconv.Itoa(span)] = count
		}
	}
	return fields
}

// read adds a field of the HASH. It reports whether the value is a number. A field of a
// newer program is passed over.
func (c *Counts) read(field, value string) bool {
	count, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	if plain := c.plain()[field]; plain != nil {
		*plain += count
		return true
	}
	prefix, label, _ := strings.Cut(field, ":")
	prefix += ":"
	if counts := c.labelled()[prefix]; counts != nil {
		addLabel(counts, label, count)
	}
	if span, err := strconv.Atoi(label); prefix == fieldLateness && err == nil && span >= 0 && span < latenessSpans {
		c.Lateness[span] += count
	}
	return true
}

func (c *Counts) plain() map[string]*int64 {
	return map[string]*int64{
		fieldAccepted: &c.Accepted, fieldDelivered: &c.Delivered, fieldLate: &c.Late,
		fieldPostponed: &c.Postponed, fieldCancelled: &c.Cancelled,
	}
}

func (c *Counts) labelled() map[string]*map[string]int64 {
	return map[string]*map[string]int64{fieldRefused: &c.Refused, fieldDropped: &c.Dropped, fieldFailed: &c.Failed}
}
