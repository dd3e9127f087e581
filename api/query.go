package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// query has the parameters of a request, each at most once.
type query map[string]string

// parseQuery reads the parameters that an operation knows. One that it does not
// know is an error, or a misspelled from would list everything.
func parseQuery(raw string, known []string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest(http.StatusBadRequest, "query", raw, "name=value, joined by & and percent-encoded")
	}
	q := make(query, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch given := values[name]; {
		case !slices.Contains(known, name):
			return nil, &fault.InvalidError{Field: valid(name), Value: given[0], Want: unknownParameter(known)}
		case len(given) > 1:
			return nil, &fault.InvalidError{Field: name, Value: strings.Join(given, ", "), Want: "one value"}
		default:
			q[name] = given[0]
		}
	}
	return q, nil
}

func unknownParameter(known []string) string {
	if len(known) == 0 {
		return "no value: there are no parameters here"
	}
	return "no value: there is no such parameter; there are " + strings.Join(known, ", ")
}

// valid makes text of bytes that a caller has sent as a name.
func valid(name string) string { return clip(strings.ToValidUTF8(name, "�")) }

// time reads a time; it is zero where the parameter is not given. The word now
// is the time that is passed.
func (q query) time(name string, now time.Time) (time.Time, error) {
	text, given := q[name]
	if !given {
		return time.Time{}, nil
	}
	at, isNow, err := message.ParseTime(text)
	if err != nil {
		want := err.Error() + ", or now"
		if strings.Contains(text, " ") {
			want += "; a + is written %2B in an address"
		}
		return time.Time{}, &fault.InvalidError{Field: name, Value: text, Want: want}
	}
	if isNow {
		return now, nil
	}
	return at, nil
}

// category reads the category of messages; "" where the parameter is not given.
func (q query) category() (string, error) {
	text, given := q["category"]
	if given && text == "" {
		return "", &fault.InvalidError{Field: "category", Want: fmt.Sprintf("1 to %d of a-z 0-9 _ -", message.MaxCategory)}
	}
	return text, message.CheckCategory(text)
}

// count reads a whole number from 1 to most; it is usual where the parameter is
// not given.
func (q query) count(name string, usual, most int) (int, error) {
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

// flag reads true or false; it is false where the parameter is not given.
func (q query) flag(name string) (bool, error) {
	switch text, given := q[name]; {
	case !given, text == "false":
		return false, nil
	case text == "true":
		return true, nil
	default:
		return false, &fault.InvalidError{Field: name, Value: text, Want: "true or false"}
	}
}
