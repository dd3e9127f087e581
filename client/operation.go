package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Pace is how fast all workers together call the push target.
	Pace = message.Pace
	// NewPace describes the pace to set. Rate is required.
	NewPace = message.PaceDraft
	// EventLimits says how often an event may happen for each key.
	EventLimits = message.EventLimits
	// NewEventLimits describes the limits of an event to set.
	NewEventLimits = message.EventLimitsDraft
	// EventLimitsRemoval is the answer to limits that were removed.
	EventLimitsRemoval = message.EventLimitsRemoval
)

const (
	pacePath        = "/v1/pace"
	eventLimitsPath = "/v1/event-limits"
)

// Pace returns how fast workers deliver through a channel, or all messages with "". Its Rate is ""
// if nothing bounds them. All calls about the pace and about events need a key with the scope admin.
func (c *Client) Pace(ctx context.Context, channel string) (Pace, error) {
	return c.callPace(ctx, "asking for the pace", http.MethodGet, channel, nil)
}

// SetPace sets or replaces a pace. Workers follow within two seconds.
func (c *Client) SetPace(ctx context.Context, channel string, pace NewPace) (Pace, error) {
	return c.callPace(ctx, "setting the pace", http.MethodPut, channel, pace)
}

// ClearPace removes a pace, and ends a pause that the target has asked for.
func (c *Client) ClearPace(ctx context.Context, channel string) (Pace, error) {
	return c.callPace(ctx, "removing the pace", http.MethodDelete, channel, nil)
}

func (c *Client) callPace(ctx context.Context, doing, method, channel string, body any) (Pace, error) {
	return answerTo[Pace](ctx, c, call{doing: doing, method: method, path: pacePath, query: values("channel", channel)}, body)
}

// AllEventLimits yields the events that have limits, by name, as Accounts yields the
// accounts.
func (c *Client) AllEventLimits(ctx context.Context, r PageRequest) iter.Seq2[EventLimits, error] {
	return pagesOf(ctx, c, "listing the limits of events", eventLimitsPath, r, func(a message.EventLimitsList) ([]EventLimits, string) {
		return a.Events, a.NextCursor
	})
}

// EventLimits returns the limits of an event. The error is ErrNotFound if it has none.
func (c *Client) EventLimits(ctx context.Context, event string) (EventLimits, error) {
	return callEvent[EventLimits](ctx, c, "asking for the limits of an event", http.MethodGet, event, nil)
}

// SetEventLimits replaces the limits and the alerts of an event. They take effect with the
// next request.
func (c *Client) SetEventLimits(ctx context.Context, event string, limits NewEventLimits) (EventLimits, error) {
	return callEvent[EventLimits](ctx, c, "setting the limits of an event", http.MethodPut, event, limits)
}

// RemoveEventLimits removes the limits and the alerts of an event. ErrNotFound may mean
// that an earlier try, whose answer got lost, removed them.
func (c *Client) RemoveEventLimits(ctx context.Context, event string) (EventLimitsRemoval, error) {
	return callEvent[EventLimitsRemoval](ctx, c, "removing the limits of an event", http.MethodDelete, event, nil)
}

// callEvent makes a call about an event. A nil body is none.
func callEvent[T any](ctx context.Context, c *Client, doing, method, event string, body any) (T, error) {
	if event == "" {
		var none T
		return none, fmt.Errorf("%s: %w", doing, invalid("event", "is missing"))
	}
	return answerTo[T](ctx, c, call{doing: doing, method: method, path: eventLimitsPath + "/" + segment(event)}, body)
}

// answerTo makes a call with a body, and decodes its answer. A nil body is none.
func answerTo[T any](ctx context.Context, c *Client, what call, body any) (T, error) {
	var answer T
	what, err := what.with(body)
	if err != nil {
		return answer, err
	}
	err = c.do(ctx, what, &answer)
	return answer, err
}
