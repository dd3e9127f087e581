package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	eventLimitsPath    = "/v1/event-limits"
	eventLimitsPattern = eventLimitsPath + "/{event}"
)

func eventLimitsOf(e counters.EventLimits) message.EventLimits {
	return message.EventLimits{
		Event: e.Name, PerMinute: e.PerMinute, PerHour: e.PerHour, PerDay: e.PerDay,
		TimeZone: cmp.Or(e.TimeZone, "UTC"), AlertAt: e.AlertAt, AlertTo: e.AlertTo,
	}
}

// noLimits returns the error about an event without limits.
func noLimits(event string) error {
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeNotFound, Field: "event",
		Detail: fmt.Sprintf("no limits of event %q", event),
	}}
}

func (s *server) eventLimitRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listEventLimits", http.MethodGet, eventLimitsPath, "operation",
				"List the events that have limits",
				"Sorted by name."),
			scope: accounts.ScopeAdmin, says: "A page of limits.",
		}, s.listEventLimits),
		operation(s, route{
			Operation: named("getEventLimits", http.MethodGet, eventLimitsPattern, "operation",
				"Get the limits of an event",
				""),
			scope: accounts.ScopeAdmin, says: "The limits.", refuses: []int{http.StatusNotFound},
		}, s.showEventLimits),
		operation(s, route{
			Operation: named("setEventLimits", http.MethodPut, eventLimitsPattern, "operation",
				"Set or replace the limits and alerts of an event",
				"Limits how often the event may happen for each key. This API counts the requests of each account as these events, "+
					"beside the limits of its tier: "+eventsCounted()+". Another event requires `custom`. Takes effect with the next request; counts "+
					"are kept. Each percent of `alert_at` alerts once for each key and period."),
			scope: accounts.ScopeAdmin, says: "The limits after the change.",
		}, s.setEventLimits),
		operation(s, route{
			Operation: named("removeEventLimits", http.MethodDelete, eventLimitsPattern, "operation",
				"Remove the limits and alerts of an event",
				"The event may then happen any number of times, beside the limits of tiers."),
			scope: accounts.ScopeAdmin, says: "Removed.", refuses: []int{http.StatusNotFound},
		}, s.removeEventLimits),
	}
}

// eventsCounted lists the events that this server counts.
func eventsCounted() string {
	words := make([]string, 0, len(Events()))
	for _, e := range Events() {
		words = append(words, "`"+e.Name+"` counts "+e.Counts)
	}
	return strings.Join(words, "; ")
}

// checkCounted returns an error for an event that this server does not count.
func checkCounted(name string) error {
	names := make([]string, 0, len(Events()))
	for _, e := range Events() {
		names = append(names, e.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return fault.Wrong("event", "nothing here counts the event %q, so its limits would have no effect: the events are %s; "+
		"set custom for an event that your own program counts", name, strings.Join(names, ", "))
}

func (s *server) listEventLimits(ctx context.Context, p pageByName) (message.EventLimitsList, error) {
	events, next, err := readPage(ctx, s, p, s.Events.Page, eventLimitsOf)
	return message.EventLimitsList{Events: events, NextCursor: next}, err
}

func (s *server) showEventLimits(ctx context.Context, in ofEvent) (message.EventLimits, error) {
	event, ok, err := s.Events.Get(ctx, in.Event)
	if err == nil && !ok {
		err = noLimits(in.Event)
	}
	return eventLimitsOf(event), err
}

type newEventLimits struct {
	ofEvent

	Body  object[message.EventLimitsDraft]
	event counters.EventLimits
}

func (in *newEventLimits) check(_ context.Context, s *server) error {
	d := in.Body.value
	in.event = counters.EventLimits{
		Name: in.Event, PerMinute: d.PerMinute, PerHour: d.PerHour, PerDay: d.PerDay,
		TimeZone: d.TimeZone, AlertAt: d.AlertAt, AlertTo: d.AlertTo,
	}
	if err := in.event.Validate(); err != nil {
		return err
	}
	if !d.Custom {
		if err := checkCounted(in.Event); err != nil {
			return err
		}
	}
	return s.Contacts.Check("alert_to", d.AlertTo)
}

func (s *server) setEventLimits(ctx context.Context, in newEventLimits) (message.EventLimits, error) {
	return eventLimitsOf(in.event), s.Events.Set(ctx, in.event)
}

func (s *server) removeEventLimits(ctx context.Context, in ofEvent) (message.EventLimitsRemoval, error) {
	removed, err := s.Events.Remove(ctx, in.Event)
	if err == nil && !removed {
		err = noLimits(in.Event)
	}
	return message.EventLimitsRemoval{Outcome: message.EventLimitsRemoved, Event: in.Event}, err
}
