package channels

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Reason says why a channel is stopped.
type Reason string

// The reasons. They are labels of metrics.
const (
	Unauthorized Reason = "unauthorized"       // its provider refuses the credentials
	Misaddressed Reason = "misaddressed"       // its provider does not know the project or the path
	Brake        Reason = message.ChannelBrake // its provider calls all devices gone
)

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
	// ProbeAt is when the next probe may be made at the soonest; zero if none was made yet.
	ProbeAt time.Time
	// Wave tells of devices that were kept though their provider calls them gone; nil for none.
	Wave *Wave

	proved   string    // the identity that was proved
	accepted time.Time // when it was used last with success
}

// Wave tells of many devices that a provider calls gone, beside others that it knows.
type Wave struct {
	At   time.Time `json:"at"`   // when it was looked at last
	Gone int       `json:"gone"` // how many of the last Of answers of one worker
	Of   int       `json:"of"`
	// Accounts and Campaigns say whose messages they were; "" for those without.
	Accounts  map[string]int `json:"accounts"`
	Campaigns map[string]int `json:"campaigns"`
}

// WaveLasts is for how long a Wave is shown.
const WaveLasts = 5 * time.Minute

// Proved reports whether the channel has delivered with the credentials of an identity.
func (s State) Proved(identity string) bool {
	_, ok := s.Accepted(identity)
	return ok
}

// Accepted returns when the channel has delivered last with the credentials of an identity, to a
// few seconds, and whether it has.
func (s State) Accepted(identity string) (at time.Time, ok bool) {
	return s.accepted, !s.accepted.IsZero() && s.proved == identity
}

// DeliveredAt returns when the channel has delivered last with any credentials, to a few seconds;
// zero if it has not.
func (s State) DeliveredAt() time.Time { return s.accepted }

// The ends of the fields of a channel.
const (
	fieldStopped  = " stopped"  // "<since, Unix ms> <Stop as JSON>"
	fieldProbe    = " probe"    // when the next probe may be made at the soonest, Unix ms
	fieldAccepted = " accepted" // "<Unix ms> <identity>" of the last success
	fieldWave     = " wave"     // a Wave as JSON
)

// decodeStates reads the fields of all channels. It passes over paused campaigns, and over what it
// can't read, except that a channel is stopped: it is not to deliver then, whatever the reason.
func decodeStates(fields map[string]string) []State {
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
		case fieldAccepted:
			at, identity, _ := strings.Cut(value, " ")
			s.accepted, s.proved = unixMilli(at), identity
		case fieldWave:
			var wave Wave
			if json.Unmarshal([]byte(value), &wave) == nil {
				s.Wave = &wave
			}
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
