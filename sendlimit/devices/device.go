package devices

import "time"

// Device is where a user's messages go: an app on a phone, or a browser.
type Device struct {
	ID      string // unique among the devices of its user
	Channel string // the name of its channel, such as "fcm"
	App     string // "" if the user has only one
	// Address is what the provider knows the device by: a token, or a subscription as JSON.
	// It is a secret, and never comes into a log or an error.
	Address      string
	Locale       string // "" for unknown
	RegisteredAt time.Time
	LastSuccess  time.Time // the last push that its provider accepted, to the hour; zero for none
	// Suspect reports that its provider called it gone when too many were gone at once.
	Suspect bool
}
