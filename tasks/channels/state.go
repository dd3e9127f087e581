package channels

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Reason says why a channel is stopped.
type Reason string

// The reasons. They are labels of metrics.
const (
	Unauthorized Reason = "unauthorized"       // the provider refuses the credentials
	Misaddressed Reason = "misaddressed"       // the provider does not know the project or the path
	Brake        Reason = message.ChannelBrake // the provider calls all devices gone
)

// Stop says why a channel is stopped.
type Stop struct {
	Reason   Reason `json:"reason"`
	Detail   string `json:"detail,omitempty"`   // the provider's words, without secrets; Store.Stop cuts it to MaxDetail
	Identity string `json:"identity,omitempty"` // of the credentials, see notifier.Identifier; "" if unknown
}

// MaxDetail is the most bytes of the detail of a Stop.
const MaxDetail = 500

// State is the state of a channel. The zero State is that of a channel that runs, and has
// delivered nothing yet.
type State struct {
	Name    string
	Stopped bool
	Stop
	Since   time.Time // of the stop, by the server's clock
	ProbeAt time.Time // the earliest time of the next probe; zero before the first one
	Wave    *Wave     // nil for none

	proved   string    // the last identity that succeeded
	accepted time.Time // its last success
}

// Wave describes the devices that were kept although their provider calls them gone.
type Wave struct {
	At   time.Time `json:"at"`
	Gone int       `json:"gone"` // of the last Of answers of one worker
	Of   int       `json:"of"`
	// Accounts and Campaigns count the messages by their origin, "" for none.
	Accounts  map[string]int `json:"accounts"`
	Campaigns map[string]int `json:"campaigns"`
}

// WaveLasts is how long a Wave is shown.
const WaveLasts = 5 * time.Minute

// Proved reports whether the channel has delivered with the credentials of an identity.
func (s State) Proved(identity string) bool {
	_, ok := s.Accepted(identity)
	return ok
}

// Accepted returns when the channel last delivered with the credentials of an identity, to a
// few seconds, and whether it did.
func (s State) Accepted(identity string) (at time.Time, ok bool) {
	return s.accepted, !s.accepted.IsZero() && s.proved == identity
}

// DeliveredAt returns when the channel last delivered with any credentials, to a few seconds;
// zero for never.
func (s State) DeliveredAt() time.Time { return s.accepted }

// The ends of the fields of a channel. fieldStopped alone is the stop of all sending.
const (
	fieldStopped  = " stopped"  // "<since, Unix ms> <Stop as JSON>"
	fieldProbe    = " probe"    // earliest time of the next probe, Unix ms
	fieldAccepted = " accepted" // "<Unix ms> <identity>" of the last success
	fieldWave     = " wave"     // a Wave as JSON
)

// decodeStates reads the fields of all channels. It skips paused campaigns, the stop of all
// sending, and unreadable values. A channel with an unreadable stop is stopped.
func decodeStates(fields map[string]string) []State {
	known := map[string]State{}
	for field, value := range fields {
		name, what, _ := strings.Cut(field, " ")
		if name == "" {
			continue
		}
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
	return slices.SortedFunc(maps.Values(known), func(a, b State) int { return strings.Compare(a.Name, b.Name) })
}
