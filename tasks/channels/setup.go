package channels

import (
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Setup is a channel that a worker delivers through.
type Setup struct {
	// Name is its name in devices, messages, metrics and the store, such as "fcm", see package
	// notifier.
	Name     string
	Notifier notifier.Notifier
	// HasDevices reports that it delivers to devices of users. A channel without devices is a
	// target: it gets every message that names no other channel.
	HasDevices bool
	// Ramp is the time from nothing to the full pace, if a pace is set; zero
	// means DefaultRamp, a negative one no ramp.
	Ramp time.Duration
}

// DefaultRamp is the ramp that providers ask for.
const DefaultRamp = time.Minute

// identityOf returns the identity of a channel's credentials, "" if unknown.
func identityOf(s Setup) string {
	if of, ok := s.Notifier.(notifier.Identifier); ok {
		return of.Identity()
	}
	return ""
}

// Validate checks the channels of a worker. The error is an *InvalidError.
func Validate(setups []Setup) error {
	known := map[string]bool{}
	for _, s := range setups {
		wrong := func(want string) error {
			return &fault.InvalidError{Field: "channel", Value: s.Name, Want: want}
		}
		switch {
		case len(s.Name) > longestName || !keyspace.ValidName(s.Name):
			return wrong("1 to 59 of a-z 0-9 _ -")
		case known[s.Name]:
			return wrong("each name once")
		case s.Notifier == nil:
			return wrong("a channel that is set up")
		}
		known[s.Name] = true
	}
	return nil
}

// longestName is the longest name: the name of its pace has PaceTarget and a dash before it.
const longestName = 59
