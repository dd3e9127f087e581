package devices

import (
	"log/slog"
	"time"
)

// Device is where a user's messages go: an app on a phone, or a browser.
type Device struct {
	ID      string // unique among the devices of its user
	Channel string // the name of its channel, such as "fcm"
	App     string // "" if the user has only one
	// Account is the account that registered it. Messages of other accounts do not go to it.
	// "" for none: then messages of every account do.
	Account string
	// Address is what the provider knows the device by: a token, or a subscription as JSON.
	// It is a secret, and never comes into a log or an error.
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

// For reports whether messages of an account go to the device. Without accounts, account
// is "".
func (d Device) For(account string) bool { return d.Account == "" || d.Account == account }
