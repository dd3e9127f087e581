package counters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// EventLimits is how often something may happen for each key, in each natural minute, hour and day.
// A limit of zero means no limit.
type EventLimits struct {
	Name      string // 1 to 64 of a-z 0-9 _ -
	PerMinute int64
	PerHour   int64
	PerDay    int64
	TimeZone  string // IANA name of the zone of the natural periods; "" is UTC
	// AlertAt lists percents of the limit of the longest period, which is PerDay if it is set: 1 to
	// 100, ascending. If a key reaches some of them, the highest raises an alert of the kind
	// "event_limit", once in a period. After the limit was raised, the percents of the new limit
	// raise alerts too. Empty means no alerts.
	AlertAt []int
	// AlertTo receives the alerts: an e-mail address, or an https: URL. AlertAt and AlertTo require
	// each other.
	AlertTo string
}

// Validate checks the event's bounds. The error is an *InvalidError.
func (e EventLimits) Validate() error {
	if err := checkEvent(e.Name); err != nil {
		return err
	}
	for p, limit := range []int64{calendar.Minute: e.PerMinute, calendar.Hour: e.PerHour, calendar.Day: e.PerDay} {
		if limit < 0 || limit > MaxLimit {
			return &fault.InvalidError{Field: "per_" + calendar.PeriodNames[p], Value: strconv.FormatInt(limit, 10), Want: fmt.Sprintf("1 to %d, or 0 for no limit", MaxLimit)}
		}
	}
	if len(e.Counters()) == 0 {
		return &fault.InvalidError{Field: "event", Value: e.Name, Says: fmt.Sprintf("event %s has no limit: give at least one, per minute, per hour or per day", e.Name)}
	}
	if _, err := (policy.Policy{TimeZone: e.TimeZone}).Location(); err != nil {
		return err
	}
	return e.validateAlerts()
}

func (e EventLimits) validateAlerts() error {
	switch {
	case len(e.AlertAt) == 0 && e.AlertTo != "":
		return fault.Wrong("alert_at", "alert_at is required with alert_to: give percents of 1 to 100, such as 80 and 100")
	case len(e.AlertAt) == 0:
		return nil
	case e.AlertTo == "":
		return fault.Wrong("alert_to", "alert_to is required with alert_at: give an e-mail address or an https: URL")
	}
	if err := policy.ValidAlertAt(e.AlertAt); err != nil {
		return err
	}
	return fault.InField(policy.ValidContact(e.AlertTo), "alert_to")
}

func checkEvent(name string) error {
	if !keyspace.ValidName(name) {
		return &fault.InvalidError{Field: "event", Value: name, Want: "a name, 1 to 64 of a-z 0-9 _ -"}
	}
	return nil
}

// Counters returns the event's limits as counters with the names "minute", "hour" and "day".
func (e EventLimits) Counters() []Counter {
	var counters []Counter
	add := func(p calendar.Period, limit int64) {
		if limit > 0 {
			counters = append(counters, eventCounter(p, limit))
		}
	}
	add(calendar.Minute, e.PerMinute)
	add(calendar.Hour, e.PerHour)
	add(calendar.Day, e.PerDay)
	return counters
}

// String describes the limits: "60 per minute, 500 per day (Europe/Berlin)". If AlertTo is a URL,
// it shows only the host.
func (e EventLimits) String() string {
	var words []string
	for _, c := range e.Counters() {
		words = append(words, c.String())
	}
	s := strings.Join(words, ", ")
	if e.TimeZone != "" {
		s += " (" + e.TimeZone + ")"
	}
	if len(e.AlertAt) > 0 {
		s += fmt.Sprintf(", alerts at %s %% to %s", joinPercents(e.AlertAt, ", "), policy.RedactContact(e.AlertTo))
	}
	return s
}

// Events keeps the limits of events in the store. The script that counts reads them, so a change
// takes effect with the next call of any process.
type Events struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewEvents returns the events in the store behind client.
func NewEvents(client redis.Cmdable, keys keyspace.Keys) *Events {
	return &Events{client: client, keys: keys}
}

// Set replaces the limits and the alerts of an event. Counts stay. In another time zone periods
// begin at other times, and count from zero. If a lower limit brings a key to a percent of AlertAt,
// the next call of the key raises the alert, even if it is refused.
func (s *Events) Set(ctx context.Context, e EventLimits) error {
	const doing = "setting the limits of an event"
	if err := e.Validate(); err != nil {
		return err
	}
	words := make([]string, 0, len(e.Counters()))
	for _, c := range e.Counters() {
		words = append(words, c.words())
	}
	zone := e.TimeZone
	if zone == "UTC" {
		zone = ""
	}
	// The name comes first: a listed name without limits is skipped, but limits without a listed
	// name would never be found.
	if err := s.client.SAdd(ctx, s.keys.Events(), e.Name).Err(); err != nil {
		return store.Explain(err, doing)
	}
	fields := []any{
		eventCounters, strings.Join(words, " "), eventZone, zone,
		eventAlertAt, joinPercents(e.AlertAt, " "), eventAlertTo, e.AlertTo,
	}
	if err := s.client.HSet(ctx, s.keys.Event(e.Name), fields...).Err(); err != nil {
		return store.Explain(err, doing)
	}
	return nil
}

// Fields of an event, see lua/fragments/counted.lua.
const (
	eventCounters = "c"
	eventZone     = "z"
	eventAlertAt  = "a"
	eventAlertTo  = "t"
)

// joinPercents joins percents with a separator.
func joinPercents(percents []int, separator string) string {
	words := make([]string, len(percents))
	for i, percent := range percents {
		words[i] = strconv.Itoa(percent)
	}
	return strings.Join(words, separator)
}

// Get returns an event; ok is false if it has no limits.
func (s *Events) Get(ctx context.Context, name string) (e EventLimits, ok bool, err error) {
	const doing = "looking up an event"
	if err := checkEvent(name); err != nil {
		return EventLimits{}, false, err
	}
	fields, err := s.client.HGetAll(ctx, s.keys.Event(name)).Result()
	if err != nil {
		return EventLimits{}, false, store.Explain(err, doing)
	}
	if len(fields) == 0 {
		return EventLimits{}, false, nil
	}
	e, err = readEvent(name, fields)
	if err != nil {
		return EventLimits{}, false, fmt.Errorf("%s: %w", doing, &fault.UnavailableError{
			Detail: fmt.Sprintf("the limits of event %q in the store can't be read: set them again, or run the newer program that wrote them", name),
			Err:    errors.New(err.Error()), // hides the type, as settings.Policies.Load does
		})
	}
	return e, true, nil
}

// List returns the events that have limits, by name.
func (s *Events) List(ctx context.Context) ([]EventLimits, error) {
	names, err := s.client.SMembers(ctx, s.keys.Events()).Result()
	if err != nil {
		return nil, store.Explain(err, "listing the events")
	}
	slices.Sort(names)
	return s.read(ctx, names)
}

// Page returns at most limit events that have limits, by name, whose names come after a name; ""
// for the first page. Next is the name to continue after, "" if there are no more. A page may have
// fewer events, or none: removed limits leave a name.
func (s *Events) Page(ctx context.Context, after string, limit int) (events []EventLimits, next string, err error) {
	names, err := s.client.SMembers(ctx, s.keys.Events()).Result()
	if err != nil {
		return nil, "", store.Explain(err, "listing the events")
	}
	names, next = script.PageOf(names, after, limit)
	events, err = s.read(ctx, names)
	return events, next, err
}

// read returns the events among the names that have limits.
func (s *Events) read(ctx context.Context, names []string) ([]EventLimits, error) {
	var events []EventLimits
	for _, name := range names {
		e, ok, err := s.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			events = append(events, e)
		}
	}
	return events, nil
}

// Remove removes the limits of an event; removed is false if it had none. Counts are forgotten at
// the end of their period.
func (s *Events) Remove(ctx context.Context, name string) (removed bool, err error) {
	if err := checkEvent(name); err != nil {
		return false, err
	}
	// Its name stays listed: removing it too could race with a Set.
	n, err := s.client.Del(ctx, s.keys.Event(name)).Result()
	if err != nil {
		return false, store.Explain(err, "removing the limits of an event")
	}
	return n > 0, nil
}

var errEventFields = errors.New("not limits of natural periods")

func readEvent(name string, fields map[string]string) (EventLimits, error) {
	e := EventLimits{Name: name, TimeZone: fields[eventZone], AlertTo: fields[eventAlertTo]}
	for word := range strings.FieldsSeq(fields[eventAlertAt]) {
		percent, err := strconv.Atoi(word)
		if err != nil {
			return EventLimits{}, fmt.Errorf("alert of an event: %w", err)
		}
		e.AlertAt = append(e.AlertAt, percent)
	}
	words := strings.Fields(fields[eventCounters])
	for ; len(words) >= 2; words = words[2:] {
		limit, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return EventLimits{}, fmt.Errorf("limit of an event: %w", err)
		}
		switch words[1] {
		case "-1":
			e.PerMinute = limit
		case "-2":
			e.PerHour = limit
		case "-3":
			e.PerDay = limit
		default:
			return EventLimits{}, errEventFields
		}
	}
	if len(words) > 0 {
		return EventLimits{}, errEventFields
	}
	return e, e.Validate()
}
