package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Counters limits how often something happens now: several counters of a key, in
// natural periods or in windows from their first use, are judged and charged in
// one script and one round trip. If one refuses, none is charged. It is safe for
// concurrent use by any number of processes.
//
// A refusal is a Decision with CodeRateLimited that names the Counter in the
// way: of several, the one that resets last. Once RetryAfter is over, the same
// call is allowed, unless others come first; trying earlier costs nothing and
// changes nothing.
//
// The limit of a Counter comes with each call, those of an Event are in the
// store. Another limit holds from the next call on, and what has been counted
// stays counted: a limit below it refuses until the period is over, a higher one
// leaves what it has more.
//
// What is counted is counted at the time of the call. A counter does not look
// back over a sliding window: around the end of a period, up to twice its limit
// can pass within a short time. For messages that are to be sent at a time, ahead
// of it, and for limits that must hold in every window, use a Timeline; for what
// is to be spread evenly, a TokenBucket; for how many may be going on within the
// last while, Permits.
//
// Every method returns an *InvalidError for an argument out of bounds, also when
// N is more than one of the limits, which no waiting helps; an *UnavailableError
// when the store did not answer, and ErrReply when it answered nonsense. A call
// whose answer got lost may have been counted, and nothing says that it was: it
// counts rather too much than too little.
type Counters struct {
	client redis.Scripter
	keys   keyspace.Keys
	zones  calendar.ZoneTables
	events sync.Map // name of an event -> name of the time zone it was last seen in
}

// Request is one call to be counted.
type Request struct {
	// Event is what happens; the limits that were set for it hold, see
	// EventStore. An event that has none is limited by Counters alone, and
	// where those are empty too, by nothing. "" is no event.
	Event string
	// Key is whose calls are counted, 1 to 256 bytes of UTF-8 without control
	// characters.
	Key string
	// N is how many are counted at once; zero means one.
	N int64
	// At is the time that is judged; zero means the server's clock. In a period
	// that is over by the server's clock nothing is counted.
	At time.Time
	// Counters are more limits, beside those of the event.
	Counters []Counter
	// TimeZone is the IANA time zone of the natural periods, "" for UTC. With an
	// Event it has to be "": the event's holds.
	TimeZone string
	// Alert tells of one of Counters, at most, that fills up; only without an
	// Event, whose counters are apart from where notices are looked for.
	Alert *Alert
}

// New returns the counters in the store behind client, under a prefix,
// "" for DefaultPrefix. The error is an *InvalidError.
func New(client redis.Scripter, prefix string) (*Counters, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &Counters{client: client, keys: keys}, nil
}

// Count counts a call, or says why not.
func (c *Counters) Count(ctx context.Context, r Request) (Decision, error) {
	const doing = "counting a call"
	answer, err := c.call(ctx, lua.Count, doing, r)
	if err != nil {
		return Decision{}, err
	}
	return r.decision(script.Read(answer, doing))
}

// GiveBack takes a call off the counters that it was counted in: none falls
// below zero, and where the period is over, nothing happens. At has to be the
// Now of the Decision that allowed it, and the rest as it was then; with At
// zero it is given back in the periods of now. What was told in an Alert stays
// told.
//
// A call that never was counted must not be given back, nor one twice: the room
// would be another's.
func (c *Counters) GiveBack(ctx context.Context, r Request) error {
	r.Alert = nil
	_, err := c.call(ctx, lua.GiveBack, "giving a call back", r)
	return err
}

// otherZone is the status of a script that has found the event in another time
// zone than the one whose offsets it was given.
const otherZone = -2

// call runs one of the scripts of counters, again where the event's time zone
// was not known.
func (c *Counters) call(ctx context.Context, lua *redis.Script, doing string, r Request) (script.Reply, error) {
	r.N = cmp.Or(r.N, 1)
	alert, err := r.validate()
	if err != nil {
		return nil, err
	}
	keys := []string{c.keys.Counters(r.Key)}
	if r.Event != "" {
		keys = []string{c.keys.EventCounters(r.Event, r.Key), c.keys.Event(r.Event)}
		if zone, ok := c.events.Load(r.Event); ok {
			r.TimeZone, _ = zone.(string)
		}
	}
	const tries = 3 // the zone may change between two
	for range tries {
		args, err := c.arguments(r, alert)
		if err != nil {
			return nil, err
		}
		answer, err := script.Run(ctx, c.client, lua, doing, keys, args)
		if err != nil {
			return nil, err
		}
		in := script.Read(answer, doing)
		if in.Int(0) != otherZone || in.Err != nil {
			return answer, in.Err
		}
		if r.TimeZone = in.String(2); in.Err != nil {
			return nil, in.Err
		}
		if _, err := c.offsets(r); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
				Detail: fmt.Sprintf("the time zone %q of event %q is not known here: set another, or update this program", r.TimeZone, r.Event),
				Err:    errors.New(err.Error()), // as of PolicyStore.Load
			})
		}
		c.events.Store(r.Event, r.TimeZone)
	}
	return nil, script.ReplyError(doing, "the event has another time zone each time")
}

// arguments are those that both scripts take, from ARGV[1] on.
func (c *Counters) arguments(r Request, alert int) ([]any, error) {
	zone := r.TimeZone
	if zone == "UTC" {
		zone = ""
	}
	offsets, err := c.offsets(r)
	if err != nil {
		return nil, err
	}
	limits, names := make([]string, len(r.Counters)), make([]string, len(r.Counters))
	for i, counter := range r.Counters {
		limits[i], names[i] = counter.words(), counter.Name
	}
	args := []any{script.Milliseconds(r.At), r.N, strings.Join(limits, " "), strings.Join(names, " "), zone, offsets}
	if r.Alert != nil {
		percents := make([]string, len(r.Alert.At))
		for i, percent := range r.Alert.At {
			percents[i] = strconv.Itoa(percent)
		}
		args = append(args, alert+1, strings.Join(percents, " "), c.keys.Partitions[keyspace.Partition(r.Key)],
			r.Alert.Kind, "c."+r.Alert.Counter, r.Key, r.Alert.Details)
	}
	return args, nil
}

// offsets are those of the request's time zone around its time.
func (c *Counters) offsets(r Request) (string, error) {
	if r.TimeZone == "" {
		return "", nil
	}
	zone, err := c.zones.Location(r.TimeZone)
	if err != nil {
		return "", err
	}
	return c.zones.TableAt(zone, calendar.OrLocalClock(r.At)).Words, nil
}

// validate checks a request, and returns which counter its alert is about.
func (r Request) validate() (alert int, err error) {
	switch {
	case !keyspace.ValidUser(r.Key):
		return 0, &fault.InvalidError{Field: "key", Value: r.Key, Want: fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", keyspace.MaxUser)}
	case r.N < 1:
		return 0, &fault.InvalidError{Field: "n", Value: strconv.FormatInt(r.N, 10), Want: "at least 1"}
	case !r.At.IsZero() && (r.At.UnixMilli() < 1 || r.At.Year() > 9999):
		return 0, &fault.InvalidError{Field: "at", Value: r.At.Format(time.RFC3339), Want: "a time of the years 1970 to 9999"}
	case r.Event == "" && len(r.Counters) == 0:
		return 0, &fault.InvalidError{Field: "counters", Value: "[]", Want: "at least one counter, or an event"}
	case len(r.Counters) > MaxCounters:
		return 0, &fault.InvalidError{Field: "counters", Value: strconv.Itoa(len(r.Counters)), Want: fmt.Sprintf("at most %d counters", MaxCounters)}
	case r.Event != "" && r.TimeZone != "":
		return 0, &fault.InvalidError{Field: "time_zone", Value: r.TimeZone, Want: "none beside an event, whose own holds"}
	case r.Event != "" && r.Alert != nil:
		return 0, &fault.InvalidError{Field: "alert", Value: r.Alert.Counter, Want: "a call without an event"}
	}
	if r.Event != "" {
		if err := checkEvent(r.Event); err != nil {
			return 0, err
		}
	}
	names := make(map[string]bool, len(r.Counters))
	for _, counter := range r.Counters {
		if err := counter.Validate(); err != nil {
			return 0, err
		}
		if names[counter.Name] || r.Event != "" && calendar.ParsePeriod(counter.Name) != calendar.NoPeriod {
			return 0, &fault.InvalidError{Field: "counter", Value: counter.Name, Want: "a name that no other counter of the call has; minute, hour and day are the event's"}
		}
		names[counter.Name] = true
	}
	if r.Alert == nil {
		return 0, nil
	}
	return r.Alert.validate(r.Counters)
}
