package counters

import (
	"strconv"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Alert raises an alert when a counter reaches a share of its limit. The script that counts puts
// the alert into the outbox, so a crash does not lose it and two callers do not raise it twice.
type Alert struct {
	// Counter names one of the counters in the request.
	Counter string
	// At lists percents of the limit, 1 to 100, ascending. Each raises one alert in a period. If a
	// call reaches several of them, only the highest raises one. A call that is given back does not
	// arm a percent again.
	At []int
	// Kind begins the id of the alert, 1 to 64 of a-z 0-9 _ -, and says what the alert is about.
	// Its subject is the Key of the request.
	Kind string
	// Details is passed on to the code that delivers the alert.
	Details string
}

// validate checks an alert against the counters of its request and returns the index of its
// counter.
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
