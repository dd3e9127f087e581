package channels

import (
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Setup is a channel that a worker delivers through.
type Setup struct {
	// Name is what devices, messages, metrics and the store call it: "fcm". It is one of the
	// names in package notifier.
	Name     string
	Notifier notifier.Notifier
	// HasDevices reports that it delivers to devices of users. A channel without devices is a
	// target: it gets every message that is not meant for something else.
	HasDevices bool
	// Ramp is how long it takes from nothing to the full pace, where a pace is set; zero
	// means DefaultRamp, and a negative one none.
	Ramp time.Duration
}

// DefaultRamp is what providers ask for.
const DefaultRamp = time.Minute

// identityOf returns that of a channel's credentials; "" if the channel does not tell.
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

// longestName is how long a name may be, as its pace has it with PaceTarget and a dash in
// front.
const longestName = 59
