package notifier

import (
	"context"
	"time"
)

// Notification is a message to deliver.
type Notification struct {
	ID       string
	User     string
	Category string // "" for none
	Title    string
	Body     string
	Data     map[string]string
	Campaign string            // "" for none
	Metadata map[string]string // the caller's own
	// SendAt is the promised send time. RequestedAt is the time that the caller asked
	// for, if it differs; otherwise zero.
	SendAt      time.Time
	RequestedAt time.Time
	// Attempt is the number of this attempt, from 1.
	Attempt int
	// IdempotencyKey is unique to the message and the same at every attempt; see the
	// function IdempotencyKey. Channels pass it on if the provider has such a key or a
	// collapse key.
	IdempotencyKey string
}

// Notifier delivers notifications through one channel.
//
// Notify tries once; the caller retries. It returns when the provider has answered or ctx
// has ended. What follows the answer is a Cleanup. It is safe for concurrent use. Every
// implementation passes the suite in package notifiertest.
type Notifier interface {
	Notify(ctx context.Context, n Notification) Result
}
