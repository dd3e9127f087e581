package notifier

import (
	"log/slog"
	"time"
)

// Device is a receiver of pushes: an app on a phone, or a browser.
type Device struct {
	ID      string
	Channel string // the name of its channel, such as "fcm"
	App     string // "" if the user has only one
	// Address is the provider's address of the device: the token of fcm and apns, the subscription
	// as JSON of webpush. It is a secret: whoever has it can push to the device. It never appears
	// in a log or an error.
	Address      string
	Locale       string // "" for unknown
	RegisteredAt time.Time
}

// String returns the channel and the id, without the address.
func (d Device) String() string { return d.Channel + " device " + d.ID }

// LogValue returns String.
func (d Device) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Priority is the urgency of a message.
type Priority string

// The priorities. With the zero Priority the channel decides.
const (
	PriorityHigh   Priority = "high"   // it may wake the device
	PriorityNormal Priority = "normal" // it may wait until the device is used
)
