package notifier

import (
	"context"
	"encoding/json"
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

	// Device is the receiver; nil for a channel without devices, such as a webhook.
	Device *Device
	// Image and ClickURL are URLs, Sound is a name of the app's; "" for none.
	Image, ClickURL, Sound string
	Badge                  *int     // the number at the app's icon; nil does not change it
	Priority               Priority // "" for the channel's default
	// CollapseKey makes a message replace an earlier one with the same key on the device; "" for
	// none.
	CollapseKey string
	// Override has the additions for this channel, an object in the provider's format; nil for
	// none.
	Override json.RawMessage
	// ExpiresAt is when a provider gives up an offline device; zero if it is unknown.
	ExpiresAt time.Time

	// SendAt is the promised send time. RequestedAt is the time that the caller requested, if it
	// differs; otherwise zero.
	SendAt      time.Time
	RequestedAt time.Time
	// Attempt is the number of this attempt, from 1.
	Attempt int
	// IdempotencyKey is unique to the message and the same at every attempt; see the function
	// IdempotencyKey. Channels pass it on if the provider has such a key or a collapse key.
	IdempotencyKey string
}

// Notifier delivers notifications through one channel.
//
// Notify tries once; the caller retries. It returns when the provider has answered or ctx has
// ended. Its later work is a Cleanup. It is safe for concurrent use. Every implementation passes
// the suite in package notifiertest.
type Notifier interface {
	Notify(ctx context.Context, n Notification) Result
}
