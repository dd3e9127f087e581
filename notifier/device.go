package notifier

import (
	"log/slog"
	"time"
)

// Device is where a channel delivers: an app on a phone, or a browser.
type Device struct {
	ID      string
	Channel string // the name of its channel, such as "fcm"
	App     string // "" if the user has only one
	// Address is what the provider knows the device by: the token of fcm and apns, the
	// subscription as JSON of webpush. It is a secret: whoever has it can push to the
	// device. It never comes into a log or an error.
	Address      string
	Locale       string // "" for unknown
	RegisteredAt time.Time
}

// String returns the channel and the id, and not the address.
func (d Device) String() string { return d.Channel + " device " + d.ID }

// LogValue returns what String returns.
func (d Device) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Priority says how urgent a message is for the device.
type Priority string

// The priorities. The zero Priority leaves it to the channel.
const (
	PriorityHigh   Priority = "high"   // it may wake the device
	PriorityNormal Priority = "normal" // it may wait until the device is used
)
