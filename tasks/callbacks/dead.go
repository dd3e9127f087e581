package callbacks

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Log returns the log of the store.
func (r *Registry) Log() *events.Log { return r.log }

// Check checks a callback URL. The error is a *fault.InvalidError.
func (r *Registry) Check(url string) error { return r.rule.Check(url) }

// Listen makes the programs write the events of an account, or of keyspace.Everyone, for as
// long as events are kept.
func (r *Registry) Listen(ctx context.Context, account string) error {
	now, err := r.client.Time(ctx).Result()
	if err != nil {
		return store.Explain(err, "listening to events")
	}
	return r.listeners.Listen(ctx, account, now.Add(r.callbacks.Kept()))
}

// ListenEvery returns how often to call Listen while somebody follows the events.
func (r *Registry) ListenEvery() time.Duration { return r.callbacks.ListenEvery() }

// DeadEvents returns the dead events of an account after an id, oldest first, at most n of
// them. NextCursor is the id to list on after; "" if there are no more.
func (r *Registry) DeadEvents(ctx context.Context, account, after string, n int) (message.DeadEvents, error) {
	dead, err := r.callbacks.DeadEvents(ctx, account, after, n)
	if err != nil {
		return message.DeadEvents{}, err
	}
	page := message.DeadEvents{DeadEvents: make([]message.DeadEvent, len(dead))}
	for i, d := range dead {
		page.DeadEvents[i] = message.DeadEvent{
			ID: d.ID, Event: EventOf(account, d.Event), Reason: d.Why, DeadAt: message.Time{Time: d.Ended.Truncate(time.Millisecond)},
		}
	}
	if len(dead) == n {
		page.NextCursor = dead[n-1].ID
	}
	return page, nil
}

// RetryDead posts dead events of an account again: the one with an id, or with "" the oldest
// ones, at most n of them. The error is a *fault.NoSuchError if there is none with the id.
func (r *Registry) RetryDead(ctx context.Context, account, id string, n int) (message.DeadEventsRetry, error) {
	retried, left, err := r.callbacks.RetryDead(ctx, account, id, n)
	if err == nil && retried == 0 && id != "" {
		err = noDeadEvent(id)
	}
	return message.DeadEventsRetry{Retried: retried, Left: left}, err
}

// PurgeDead removes dead events of an account: the one with an id, or with "" all. The error
// is a *fault.NoSuchError if there is none with the id.
func (r *Registry) PurgeDead(ctx context.Context, account, id string) (message.DeadEventsPurge, error) {
	purged, err := r.callbacks.PurgeDead(ctx, account, id)
	if err == nil && purged == 0 && id != "" {
		err = noDeadEvent(id)
	}
	return message.DeadEventsPurge{Purged: purged}, err
}

func noDeadEvent(id string) error { return &fault.NoSuchError{What: "dead event", Name: id} }
