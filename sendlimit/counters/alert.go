package counters

import (
	"strconv"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Alert tells of a counter that reaches a share of its limit: a notice is
// put into the outbox in the script that counts, so that neither a crash nor two
// callers at once lose it or raise it twice.
type Alert struct {
	// Counter names the one, of those the call brings itself.
	Counter string
	// At has the percents of its limit that are told of, 1 to 100, ascending.
	// Each is told of once in a period, of several reached at once the highest;
	// what is given back does not arm it again.
	At []int
	// Kind begins the notice's id, 1 to 64 of a-z 0-9 _ -, and tells whoever
	// delivers it what it is. Its subject is the call's Key.
	Kind string
	// Details is handed to whoever delivers the notice as it is.
	Details string
}

// validate checks an alert against the counters of its call, and returns which
// of them it is about.
func (a Alert) validate(counters []Counter) (index int, err error) {
	index = -1
	for i, c := range counters {
		if c.Name == a.Counter {
			index = i
		}
	}
	switch {
	case index < 0:
		return 0, &fault.InvalidError{Field: "alert.counter", Value: a.Counter, Want: "the name of one of the call's own counters"}
	case !keyspace.ValidName(a.Kind):
		return 0, &fault.InvalidError{Field: "alert.kind", Value: a.Kind, Want: "1 to 64 of a-z 0-9 _ -"}
	case len(a.At) == 0:
		return 0, &fault.InvalidError{Field: "alert.at", Value: "[]", Want: "percents, such as 80, 100"}
	}
	last := 0
	for _, percent := range a.At {
		if percent <= last || percent > 100 {
			return 0, &fault.InvalidError{Field: "alert.at", Value: strconv.Itoa(percent), Want: "percents of 1 to 100, ascending"}
		}
		last = percent
	}
	return index, nil
}
