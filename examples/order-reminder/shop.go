package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/client"
)

// Order is an order that a customer picks up.
type Order struct {
	ID       string    `json:"id"` // the message's id too, so that to repeat a request is safe
	Customer string    `json:"customer"`
	PickUpAt time.Time `json:"pick_up_at"`
	Reminder Reminder  `json:"reminder"`
}

// Reminder is the push message about an order.
type Reminder struct {
	Status     string    `json:"status"` // refused, or what the API says: scheduled, delivered …
	SendAt     time.Time `json:"send_at,omitzero"`
	Why        string    `json:"why,omitempty"`
	NextFreeAt time.Time `json:"next_free_at,omitzero"` // with refused: when the customer may be reminded instead
}

const refused = "refused"

// Shop has the orders. A real shop keeps them in its database.
type Shop struct {
	reminders *client.Client
	before    time.Duration // from the reminder to the pick-up

	mu     sync.Mutex
	orders map[string]Order
}

// NewShop returns a shop without orders.
func NewShop(reminders *client.Client, before time.Duration) *Shop {
	return &Shop{reminders: reminders, before: before, orders: make(map[string]Order)}
}

// Make stores an order, and schedules its reminder. If the reminder is refused, the order is stored
// without it. If Make returns an error, nothing is stored: repeat the call with the same id.
func (s *Shop) Make(ctx context.Context, o Order, shift bool) (Order, error) {
	m := client.Message{
		ID: o.ID, User: o.Customer, SendAt: o.PickUpAt.Add(-s.before), ExpiresAt: o.PickUpAt,
		Title: "Your order is ready soon", Body: text(o.PickUpAt),
		Data: map[string]string{"order": o.ID},
	}
	if shift {
		// A reminder after the pick-up is useless.
		m.OnConflict, m.ShiftUntil = client.OnConflictShift, o.PickUpAt
	}
	accepted, err := s.reminders.Submit(ctx, m)
	if refusal, ok := errors.AsType[*client.Refusal](err); ok {
		o.Reminder = Reminder{Status: refused, Why: refusal.Detail, NextFreeAt: refusal.NextFreeAt.Time}
	} else if err != nil {
		return Order{}, err
	} else {
		o.Reminder = Reminder{Status: client.StatusScheduled, SendAt: accepted.SendAt.Time}
	}
	s.put(o)
	return o, nil
}

// Move changes the time of an order and its reminder. If the reminder is refused, both keep their
// times, and the error is a *client.Refusal with the next free time.
func (s *Shop) Move(ctx context.Context, o Order, pickUpAt time.Time, shift bool) (Order, error) {
	if o.Reminder.Status == refused { // there is nothing to move yet
		o.PickUpAt = pickUpAt
		return s.Make(ctx, o, shift)
	}
	to, body, expires := pickUpAt.Add(-s.before), text(pickUpAt), pickUpAt
	change := client.MessageChange{SendAt: &to, Body: &body, ExpiresAt: &expires}
	if shift {
		change.OnConflict, change.ShiftUntil = client.OnConflictShift, pickUpAt
	}
	moved, err := s.reminders.Change(ctx, o.Customer, o.ID, change)
	if err != nil {
		return Order{}, err
	}
	o.PickUpAt = pickUpAt
	o.Reminder = Reminder{Status: client.StatusScheduled, SendAt: moved.SendAt.Time}
	s.put(o)
	return o, nil
}

// Cancel removes an order and its reminder. A reminder that is being sent, or was sent, can't be
// stopped; the order is removed anyway.
func (s *Shop) Cancel(ctx context.Context, o Order) error {
	_, err := s.reminders.CancelMessage(ctx, o.Customer, o.ID)
	if _, gone := errors.AsType[*client.Refusal](err); err != nil && !gone {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.orders, o.ID)
	return nil
}

// Order returns an order with the present status of its reminder.
func (s *Shop) Order(ctx context.Context, id string) (Order, bool, error) {
	o, found := s.find(id)
	if !found || o.Reminder.Status == refused || ended(o.Reminder.Status) {
		return o, found, nil
	}
	status, err := s.reminders.Message(ctx, o.Customer, id)
	if err != nil {
		return Order{}, true, err
	}
	o.Reminder = Reminder{Status: status.Status, SendAt: status.SendAt.Time, Why: status.Reason}
	return o, true, nil
}

// Follow receives the events of the reminders until ctx ends. It continues after an outage of the
// connection or the API. Use events for immediate reactions only: Order reads the status, so a
// missed event does no harm.
func (s *Shop) Follow(ctx context.Context) {
	for event, err := range s.reminders.FollowEvents(ctx, client.EventsRequest{}) {
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, client.ErrEventsMissing):
			continue
		case err != nil:
			fmt.Fprintln(os.Stderr, "no more events:", err)
			return
		}
		s.heard(strings.TrimPrefix(event.Type, "sendlimit.message."), event)
	}
}

// heard stores how a reminder ended. If it was dropped or failed, a real shop would tell the
// customer in another way.
func (s *Shop) heard(what string, event client.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, found := s.orders[event.Data.ID]
	if !found || o.Customer != event.Data.User {
		return
	}
	fmt.Println("the reminder of", o.ID, "was", what)
	if ended(what) {
		o.Reminder.Status, o.Reminder.Why = what, event.Data.Reason
		s.orders[o.ID] = o
	}
}

func text(pickUpAt time.Time) string { return "Pick it up at " + pickUpAt.Format("15:04") }

// ended reports whether a status is final.
func ended(status string) bool {
	switch status {
	case client.StatusDelivered, client.StatusDropped, client.StatusFailed, client.StatusUncertain, client.StatusCancelled:
		return true
	default:
		return false
	}
}

func (s *Shop) find(id string) (Order, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, found := s.orders[id]
	return o, found
}

func (s *Shop) put(o Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders[o.ID] = o
}
