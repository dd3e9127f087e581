package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Query holds the parameters of a request by name.
type Query map[string]string

// ParseQuery reads the parameters of a request. An unknown or repeated parameter is an error: a
// misspelled "from" must not list everything.
func ParseQuery(raw string, known []string) (Query, error) {
	if raw == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, BadRequest(http.StatusBadRequest, "query", raw, "name=value, joined by & and percent-encoded")
	}
	q := make(Query, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch given := values[name]; {
		case !slices.Contains(known, name):
			return nil, fault.Wrong(Printable(name), "unknown query parameter %q: %s", Printable(name), thereAre(known))
		case len(given) > 1:
			return nil, fault.Wrong(name, "the query parameter %s is given %d times: give it once", name, len(given))
		default:
			q[name] = given[0]
		}
	}
	return q, nil
}

func thereAre(known []string) string {
	if len(known) == 0 {
		return "this address has none"
	}
	return "there are " + strings.Join(known, ", ")
}

// Printable returns bytes from a caller as a short valid text.
func Printable(name string) string { return fault.Clip(strings.ToValidUTF8(name, "�")) }

// Time returns a parameter that is a time, or the zero time if it is absent. The word "now" means
// the present time.
func (q Query) Time(name string, now time.Time) (time.Time, error) {
	text, given := q[name]
	if !given {
		return time.Time{}, nil
	}
	at, isNow, err := message.ParseTime(text)
	if wrong, ok := errors.AsType[*fault.InvalidError](fault.InField(err, name)); ok {
		note := ", or now"
		if strings.Contains(text, " ") {
			note += "; a + is written %2B in an address"
		}
		return time.Time{}, wrong.Noting(note)
	}
	if isNow {
		return now, nil
	}
	return at, nil
}

// Count returns a parameter that is a whole number from 1 to most, or usual if it is absent.
func (q Query) Count(name string, usual, most int) (int, error) {
	text, given := q[name]
	if !given {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, &fault.InvalidError{Field: name, Value: text, Want: fmt.Sprintf("1 to %d", most)}
	}
	return n, nil
}

// Flag returns a parameter that is true or false, or false if it is absent.
func (q Query) Flag(name string) (bool, error) {
	switch text, given := q[name]; {
	case !given, text == "false":
		return false, nil
	case text == "true":
		return true, nil
	default:
		return false, &fault.InvalidError{Field: name, Value: text, Want: "true or false"}
	}
}
