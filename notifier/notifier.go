package notifier

import (
	"context"
	"time"
)

// Notification is one message on its way out.
type Notification struct {
	ID       string
	User     string
	Category string // "" when the caller named none
	Title    string
	Body     string
	Data     map[string]string
	// SendAt is the promised send time; RequestedAt what the caller asked
	// for, where it differs, and zero otherwise.
	SendAt      time.Time
	RequestedAt time.Time
	// Attempt counts the deliveries tried, this one included: 1 at the first.
	Attempt int
	// IdempotencyKey is the same at every attempt of one message and differs
	// between messages, users included; see the function of that name.
	// Channels whose provider has such a key, or a collapse key, pass it on.
	IdempotencyKey string
}

// Notifier delivers notifications through one channel.
//
// Notify tries once and never retries by itself: a retry is the queue's, which
// judges the limits again. It returns when the provider has answered, or when
// ctx ends. It is safe for concurrent use. Every implementation passes the
// suite in package notifiertest.
type Notifier interface {
	Notify(ctx context.Context, n Notification) Result
}
