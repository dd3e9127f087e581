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

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Counters limits how often something happens now. One script, and one round trip, judges and
// charges several counters of a key: in natural periods, or in windows from their first use. If one
// refuses, none is charged. Any number of processes may use it concurrently.
//
// A refusal is a Decision with CodeRateLimited. It names the counter that refuses; if several do,
// the one that resets last. After RetryAfter the same call is allowed, unless others come first.
// Trying earlier costs nothing.
//
// The limit of a Counter comes with each call; the limits of an Event are in the store. A changed
// limit takes effect with the next call, and what has been counted stays counted. A limit below
// that count refuses until the period ends.
//
// A call is counted at the time it is made. A counter does not look back over a sliding window:
// around the end of a period, up to twice its limit can pass in a short time. Use a Timeline for
// messages that are sent later and for limits that apply to every window, a TokenBucket for an even
// flow, and Permits for how many may happen in any interval.
//
// Every method returns an *InvalidError for an argument out of bounds, and if N exceeds a limit, so
// that waiting would not help. It returns an *UnavailableError if the store did not answer, and
// ErrReply if its reply makes no sense. A call whose reply got lost may have been counted: counters
// rather count too much than too little.
type Counters struct {
	client redis.Scripter
	keys   keyspace.Keys
	zones  calendar.ZoneTables
	// events has the last known time zone of each event, by name.
	events sync.Map
}

// Request describes one call to count.
type Request struct {
	// Event is what happens. Its limits apply, see Events. An event without limits is limited by
	// Counters only, if any. "" means no event.
	Event string
	// Key is whose calls are counted: 1 to 256 bytes of UTF-8 without control characters.
	Key string
	// N is how many calls are counted together; zero means one.
	N int64
	// At is the time to judge; zero means the server's clock. Nothing is counted in a period that
	// has ended by the server's clock.
	At time.Time
	// Counters are limits beside those of the event.
	Counters []Counter
	// TimeZone is the IANA time zone of the natural periods; "" means UTC. It must be "" with an
	// Event, which has its own.
	TimeZone string
	// Alert raises an alert when one of Counters fills up. It needs a request without an Event,
	// which has its own alerts: see Event.AlertAt.
	Alert *Alert

	reset bool // gives back everything
}

// New returns the counters in the store behind client.
func New(client redis.Scripter, keys keyspace.Keys) *Counters {
	return &Counters{client: client, keys: keys}
}

// Count counts a call, or refuses it.
func (c *Counters) Count(ctx context.Context, r Request) (Decision, error) {
	const doing = "counting a call"
	answer, err := c.call(ctx, lua.Count, doing, r)
	if err != nil {
		return Decision{}, err
	}
	return r.decision(script.Read(answer, doing))
}

// Peek returns what Count would answer, and counts nothing: another call may come first. Its
// Decision has no alerts, and its usage does not include the call.
func (c *Counters) Peek(ctx context.Context, r Request) (Decision, error) {
	const doing = "looking at counters"
	r.Alert = nil
	answer, err := c.call(ctx, lua.CountLook, doing, r)
	if err != nil {
		return Decision{}, err
	}
	return r.decision(script.Read(answer, doing))
}

// GiveBack takes a call off the counters that counted it. No counter falls below zero; nothing
// happens if the period has ended. At must be the Now of the Decision that allowed the call, and
// the rest the same as then. With a zero At, the call is taken off the current periods. An alert
// that the call raised stays raised.
//
// Never give back a call that was not counted, or one call twice: that takes the count of another
// call. If the client repeats the command because the reply was lost, the call is given back once.
func (c *Counters) GiveBack(ctx context.Context, r Request) error {
	r.Alert = nil
	_, err := c.call(ctx, lua.GiveBack, "giving a call back", r, keyspace.NewToken())
	return err
}

// Reset sets the counters of a request, those of its Event and its Counters, to zero in their
// present periods, at At or now by the server's clock. A window begins with the next call. Reset
// deletes the keys: a counter at zero has none. N does not matter. Counts of other periods stay,
// and so do raised alerts: their percents do not raise another one in that period.
//
// Do not give a call back that was counted before a Reset.
func (c *Counters) Reset(ctx context.Context, r Request) error {
	r.Alert, r.N, r.reset = nil, 1, true
	_, err := c.call(ctx, lua.GiveBack, "resetting counters", r, keyspace.NewToken())
	return err
}

// otherZone is the status of a script if the arguments are for another time zone than the event's.
const otherZone = -2

// call runs a script, with more arguments at the end. It runs it again if it did not know the
// event's time zone.
func (c *Counters) call(ctx context.Context, what *lua.Script, doing string, r Request, more ...any) (script.Reply, error) {
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
	const tries = 3 // the zone may change between two tries
	for range tries {
		args, err := c.arguments(r, alert)
		if err != nil {
			return nil, err
		}
		in := script.Call(ctx, c.client, what, doing, keys, append(args, more...))
		if in.Int(0) != otherZone || in.Err != nil {
			return in.Reply, in.Err
		}
		if r.TimeZone = in.String(2); in.Err != nil {
			return nil, in.Err
		}
		if _, err := c.offsets(r); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
				Detail: fmt.Sprintf("this program does not know the time zone %q of event %q: set another one, or update the program", r.TimeZone, r.Event),
				Err:    errors.New(err.Error()), // hides the type, as settings.Policies.Load does
			})
		}
		c.events.Store(r.Event, r.TimeZone)
	}
	return nil, script.ReplyError(doing, "the event has another time zone each time")
}

// arguments returns the arguments of both scripts, from ARGV[1] on.
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
	var n any = r.N
	if r.reset {
		n = ""
	}
	args := []any{script.Milliseconds(r.At), n, strings.Join(limits, " "), strings.Join(names, " "), zone, offsets}
	if r.Alert != nil {
		args = append(args, alert+1, joinPercents(r.Alert.At, " "), c.keys.Partitions[keyspace.Partition(r.Key)],
			r.Alert.Kind, "c."+r.Alert.Counter, r.Key, r.Alert.Details)
	}
	return args, nil
}

// offsets returns the offsets of the request's time zone around its time.
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

// validate checks a request and returns the index of its alert's counter.
func (r Request) validate() (alert int, err error) {
	switch {
	case !keyspace.ValidKey(r.Key):
		return 0, &fault.InvalidError{Field: "key", Value: r.Key, Want: keyspace.WantKey}
	case r.N < 1:
		return 0, &fault.InvalidError{Field: "n", Value: strconv.FormatInt(r.N, 10), Want: "at least 1"}
	case !r.At.IsZero() && (r.At.UnixMilli() < 1 || r.At.Year() > 9999):
		return 0, &fault.InvalidError{Field: "at", Value: r.At.Format(time.RFC3339), Want: "a time of the years 1970 to 9999"}
	case r.Event == "" && len(r.Counters) == 0:
		return 0, &fault.InvalidError{Field: "counters", Value: "[]", Want: "at least one counter, or an event"}
	case len(r.Counters) > MaxCounters:
		return 0, &fault.InvalidError{Field: "counters", Value: strconv.Itoa(len(r.Counters)), Want: fmt.Sprintf("at most %d counters", MaxCounters)}
	case r.Event != "" && r.TimeZone != "":
		return 0, &fault.InvalidError{Field: "time_zone", Value: r.TimeZone, Want: "none with an event: its own time zone is used"}
	case r.Event != "" && r.Alert != nil:
		return 0, &fault.InvalidError{Field: "alert", Value: r.Alert.Counter, Want: "a call without an event: an event has its own alert_at and alert_to"}
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
