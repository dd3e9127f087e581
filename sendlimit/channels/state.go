package channels

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Reason says why a channel is stopped.
type Reason string

// The reasons. They are labels of metrics.
const (
	Unauthorized Reason = "unauthorized" // its provider refuses the credentials
	Misaddressed Reason = "misaddressed" // its provider does not know the project or the path
	Brake        Reason = "brake"        // its provider calls too many devices gone; only Resume ends it
)

// Reasons returns every Reason, in the order above.
func Reasons() []Reason { return []Reason{Unauthorized, Misaddressed, Brake} }

// Stop says why a channel is to be stopped.
type Stop struct {
	Reason Reason `json:"reason"`
	// Detail is what the provider said, for an operator: no secret, and no more than
	// MaxDetail bytes, to which Store.Stop cuts it.
	Detail string `json:"detail,omitempty"`
	// Identity is that of the credentials, see notifier.Identifier; "" if it is not known.
	Identity string `json:"identity,omitempty"`
}

// MaxDetail is how long the detail of a Stop is at most, bytes.
const MaxDetail = 500

// State is the state of a channel. The zero State is that of a channel that runs, and has
// delivered nothing yet.
type State struct {
	Name    string
	Stopped bool
	// Stop and Since say why and since when, by the server's clock.
	Stop
	Since time.Time
	// ProbeAt is when the next probe may be made; zero if none was made yet, or after the
	// brake.
	ProbeAt time.Time

	proved   string // the identity that was proved
	isProved bool
}

// Proved reports whether the channel has delivered with the credentials of an identity.
func (s State) Proved(identity string) bool { return s.isProved && s.proved == identity }

// ProvedIdentity returns the identity of the credentials with which the channel has delivered
// last, and whether it has delivered at all.
func (s State) ProvedIdentity() (identity string, ok bool) { return s.proved, s.isProved }

// The ends of the fields of a channel.
const (
	fieldStopped = " stopped" // "<since, Unix ms> <Stop as JSON>"
	fieldProbe   = " probe"   // when the next probe may be made, Unix ms
	fieldProved  = " proved"  // an identity
)

// decode reads the fields of all channels. It passes over what it can't read, except that a
// channel is stopped: it is not to deliver then, whatever the reason.
func decode(fields map[string]string) []State {
	known := map[string]State{}
	for field, value := range fields {
		name, what, _ := strings.Cut(field, " ")
		s := known[name]
		s.Name = name
		switch " " + what {
		case fieldStopped:
			since, why, _ := strings.Cut(value, " ")
			s.Stopped, s.Since = true, unixMilli(since)
			if json.Unmarshal([]byte(why), &s.Stop) != nil || s.Reason == "" {
				s.Stop = Stop{Reason: Unauthorized}
			}
		case fieldProbe:
			s.ProbeAt = unixMilli(value)
		case fieldProved:
			s.proved, s.isProved = value, true
		default:
			continue
		}
		known[name] = s
	}
	states := make([]State, 0, len(known))
	for _, s := range known {
		states = append(states, s)
	}
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return states
}
