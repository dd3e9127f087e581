package devices

import (
	"log/slog"
	"time"
)

// Device is an app on a phone or a browser that receives a user's messages.
type Device struct {
	ID      string // unique among the devices of its user
	Channel string // the name of its channel, such as "fcm"
	App     string // "" if the user has only one
	// Account is the account that registered it. Only that account's messages are sent to it.
	// If it is "", the messages of every account are.
	Account string
	// Address identifies the device at its provider: a token, or a subscription as JSON.
	// It is a secret: no log and no error shows it.
	Address      string
	Locale       string    // "" for unknown
	RegisteredAt time.Time // to the second
	LastSuccess  time.Time // the last push that its provider accepted, to the hour; zero for none
	// Suspect reports that its provider called it gone when too many were gone at once.
	Suspect bool
}

// String returns the channel and the id, and not the address.
func (d Device) String() string { return d.Channel + " device " + d.ID }

// GoString returns what String returns.
func (d Device) GoString() string { return d.String() }

// LogValue returns what String returns.
func (d Device) LogValue() slog.Value { return slog.StringValue(d.String()) }

// For reports whether messages of an account are sent to the device. Without accounts, account is "".
func (d Device) For(account string) bool { return d.Account == "" || d.Account == account }
