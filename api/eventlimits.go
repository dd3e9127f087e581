package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	eventLimitsPath    = "/v1/event-limits"
	eventLimitsPattern = eventLimitsPath + "/{event}"
)

func eventParameter() *huma.Param { return nameParameter("event", submitEvent) }

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
		Detail: fmt.Sprintf("the event %q has no limits: set some", event),
	}}
}

func (s *server) listEventLimitsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listEventLimits", Method: http.MethodGet, Path: eventLimitsPath, Tags: []string{"operation"},
			Summary:     "List the events that have limits",
			Description: "By name.",
			Parameters:  pageParameters("Events a page."),
			Responses:   responses[message.EventLimitsList](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listEventLimits,
	}
}

func (s *server) listEventLimits(r *http.Request, q web.Query) (web.Answer, error) {
	events, next, err := pageByName(s, r, q, s.events.Page, eventLimitsOf)
	return web.Done(message.EventLimitsList{Events: events, NextCursor: next}), err
}

func (s *server) showEventLimitsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getEventLimits", Method: http.MethodGet, Path: eventLimitsPattern, Tags: []string{"operation"},
			Summary:    "Get the limits of an event",
			Parameters: []*huma.Param{eventParameter()},
			Responses:  responses[message.EventLimits](s, "The limits.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showEventLimits,
	}
}

func (s *server) showEventLimits(r *http.Request, _ web.Query) (web.Answer, error) {
	name := r.PathValue("event")
	event, ok, err := s.events.Get(r.Context(), name)
	if err != nil {
		return web.Answer{}, err
	}
	if !ok {
		return web.Answer{}, noLimits(name)
	}
	return web.Done(eventLimitsOf(event)), nil
}

func (s *server) setEventLimitsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "setEventLimits", Method: http.MethodPut, Path: eventLimitsPattern, Tags: []string{"operation"},
			Summary: "Set or replace the limits and alerts of an event",
			Description: "Says how often the event may happen for each key. This API counts the requests of each account as these events, " +
				"beside the limits of its tier: " + eventsCounted() + ". Another event needs `custom`. Takes effect with the next request; what " +
				"is counted stays counted. Each percent of `alert_at` alerts once for each key and period.",
			Parameters:  []*huma.Param{eventParameter()},
			RequestBody: jsonBody[message.EventLimitsDraft](s),
			Responses:   responses[message.EventLimits](s, "As they are now.", bodyProblems()...),
		},
		scope: accounts.ScopeAdmin, do: s.setEventLimits,
	}
}

// eventsCounted names the events that this server counts.
func eventsCounted() string {
	words := make([]string, 0, len(Events()))
	for _, e := range Events() {
		words = append(words, "`"+e.Name+"` counts "+e.Counts)
	}
	return strings.Join(words, "; ")
}

func (s *server) setEventLimits(r *http.Request, _ web.Query) (web.Answer, error) {
	var event counters.EventLimits
	_, err := web.ReadBody(s.bodies(), r, func(d message.EventLimitsDraft) error {
		event = counters.EventLimits{
			Name: r.PathValue("event"), PerMinute: d.PerMinute, PerHour: d.PerHour, PerDay: d.PerDay,
			TimeZone: d.TimeZone, AlertAt: d.AlertAt, AlertTo: d.AlertTo,
		}
		if err := event.Validate(); err != nil {
			return err
		}
		if !d.Custom {
			if err := checkCounted(event.Name); err != nil {
				return err
			}
		}
		return s.contacts.Check("alert_to", d.AlertTo)
	})
	if err == nil {
		err = s.events.Set(r.Context(), event)
	}
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(eventLimitsOf(event)), nil
}

// checkCounted returns an error about an event that this server does not count.
func checkCounted(name string) error {
	names := make([]string, 0, len(Events()))
	for _, e := range Events() {
		names = append(names, e.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return fault.Wrong("event", "nothing here counts the event %q, so its limits would have no effect: the events are %s; "+
		"set custom for an event that a program of your own counts", name, strings.Join(names, ", "))
}

func (s *server) removeEventLimitsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "removeEventLimits", Method: http.MethodDelete, Path: eventLimitsPattern, Tags: []string{"operation"},
			Summary:     "Remove the limits and alerts of an event",
			Description: "The event may then happen any number of times, beside the limits of tiers.",
			Parameters:  []*huma.Param{eventParameter()},
			Responses:   responses[message.EventLimitsRemoval](s, "Removed.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.removeEventLimits,
	}
}

func (s *server) removeEventLimits(r *http.Request, _ web.Query) (web.Answer, error) {
	name := r.PathValue("event")
	removed, err := s.events.Remove(r.Context(), name)
	if err != nil {
		return web.Answer{}, err
	}
	if !removed {
		return web.Answer{}, noLimits(name)
	}
	return web.Done(message.EventLimitsRemoval{Outcome: message.EventLimitsRemoved, Event: name}), nil
}
