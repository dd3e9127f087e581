package messages

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// State is the state of a message.
type State uint8

// The states. A message that waits for a retry is pending, too.
const (
	StateUnknown   State = iota // there is no record: it never existed, or ended long ago
	StatePending                // to be sent
	StateSending                // a worker has it
	StateDelivered              // the provider accepted it
	StateCancelled              // released before it was sent
	StateDropped                // not sent: Reason is ReasonExpired, ReasonNoFreeTime, ReasonBlocked, ReasonOptedOut or ReasonNoDevice
	StateFailed                 // given up after its last attempt: a dead letter
	StateUncertain              // given up; it may have been sent: a dead letter
)

var stateNames = [...]string{ //nolint:globals // a constant table
	"unknown", "pending", "sending", "delivered", "cancelled", "dropped", "failed", "uncertain",
}

// String returns the state for logs and metrics.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// ReasonLate is the Reason of a message that was postponed because it was late. Info.InTheWay and
// Info.InQuietHours are what was in the way.
const ReasonLate = "late"

// ReasonPaused is the Reason of a message that waits because its campaign is paused.
const ReasonPaused = "paused"

// Info is a message's record. All times are UTC with milliseconds; a zero time means none.
type Info struct {
	User  string
	ID    string
	State State

	// SendAt is the current or last send time. Promised is the send time before the message was
	// first postponed or sent late. RequestedAt is the requested one. Both are zero if they equal
	// SendAt.
	SendAt      time.Time
	Promised    time.Time
	RequestedAt time.Time
	Shifted     bool      // a shift chose the send time
	MovedFrom   time.Time // the send time before the last move
	NotBefore   time.Time // the retry of a failed message, or the next check of one that waits for its paused campaign, for other rules or for a free time
	ExpiresAt   time.Time // set by the caller

	// EndedAt is when the message ended; if delivered, when its delivery began, Lateness after the
	// promised time.
	EndedAt  time.Time
	Lateness time.Duration

	Attempts int // the number of deliveries, including a running one
	// Reason is why it ended, is retried or was postponed; "" for none. If it is being sent or was
	// delivered, Reason is why it was not sent before, or not to all devices.
	Reason string
	// With ReasonLate: the first rule that postponed the message, zero for none; the category of
	// that rule, "" for an overall one; or that quiet hours or a do-not-disturb did.
	InTheWay         policy.Rule
	InTheWayCategory string
	InQuietHours     bool
	DoNotDisturb     bool
	ProviderID       string // the provider's id of the delivered message
	Words            string // the provider's answer to a message that failed or is uncertain; "" for none
	Uncertain        bool   // an earlier delivery may have arrived, too
	Category         string
	// Uncounted reports that its place does not count for other messages: its category was exempt
	// and uncounted when it got the place.
	Uncounted bool
	Campaign  string // as in Record
	Metadata  []byte // as in Record; nil for none
	Local     string // as in Record
	// Progress has the devices for which the message has ended; nil for none.
	Progress Progress

	// Account is the account that was charged for the message; "" for none. Hold is the attempt of
	// the hold for its place. FormerHolds are the attempts of its earlier places. All these changes
	// were made.
	Account     string
	Hold        string
	FormerHolds []string

	// History has the last changes, at most MaxHistory, oldest first. Trace, Read and
	// DeadLetters.Get set it.
	History []Change
}

// InfoFields lists the fields of a record that InfoOf reads.
func InfoFields() []string {
	return append([]string{
		keyspace.RecordState, keyspace.RecordGeneration, keyspace.RecordSendAt, keyspace.RecordPromised,
		keyspace.RecordRequestedAt, keyspace.RecordMovedFrom, keyspace.RecordNotBefore, keyspace.RecordExpiresAt,
		keyspace.RecordEndedAt, keyspace.RecordAttempts, keyspace.RecordShifted, keyspace.RecordReason,
		keyspace.RecordProviderID, keyspace.RecordCategory, keyspace.RecordUncertain, keyspace.RecordCharge,
		keyspace.RecordUncounted, keyspace.RecordCampaign, keyspace.RecordProgress,
		keyspace.RecordLocal,
	}, keyspace.MetadataFields()...)
}

// InfoOf reads the InfoFields of a record.
func InfoOf(user, id string, record *script.Fields, doing string) (Info, error) {
	s := Info{User: user, ID: id, State: stateOf(record)}
	if s.State == StateUnknown {
		return s, record.Err(doing)
	}
	s.SendAt, s.Promised = record.Time(keyspace.RecordSendAt), record.Time(keyspace.RecordPromised)
	s.RequestedAt, s.MovedFrom = record.Time(keyspace.RecordRequestedAt), record.Time(keyspace.RecordMovedFrom)
	s.NotBefore, s.ExpiresAt = record.Time(keyspace.RecordNotBefore), record.Time(keyspace.RecordExpiresAt)
	s.EndedAt = record.Time(keyspace.RecordEndedAt)
	s.Attempts, s.Shifted = int(record.Int(keyspace.RecordAttempts)), record.Has(keyspace.RecordShifted)
	s.Reason, s.ProviderID = record.Text(keyspace.RecordReason), record.Text(keyspace.RecordProviderID)
	s.Category, s.Uncounted = record.Text(keyspace.RecordCategory), record.Has(keyspace.RecordUncounted)
	s.Campaign, s.Metadata = record.Text(keyspace.RecordCampaign), keyspace.JoinMetadata(record.Lookup)
	s.Local = record.Text(keyspace.RecordLocal)
	s.Progress = ParseProgress(record.Text(keyspace.RecordProgress))
	s.Uncertain = record.Has(keyspace.RecordUncertain) && s.State != StateUncertain // the state implies it
	s.Account, s.Hold, s.FormerHolds = parseCharge(record.Text(keyspace.RecordCharge))
	if s.State == StateDelivered {
		s.Lateness = s.EndedAt.Sub(s.promised())
	}
	if s.State == StateFailed || s.State == StateUncertain {
		s.ProviderID, s.Words = "", s.ProviderID
	}
	if s.State == StateCancelled {
		s.Reason = ""
	}
	if s.State != StatePending {
		s.NotBefore = time.Time{} // of the running attempt
	}
	s.readLate()
	return s, record.Err(doing)
}

// stateOf reads the state of a message from its record. A pending message has an empty state.
func stateOf(record *script.Fields) State {
	letter := record.Text(keyspace.RecordState)
	if letter == "" {
		if !record.Has(keyspace.RecordGeneration) {
			return StateUnknown
		}
		return StatePending
	}
	i := strings.Index("sdcxfu", letter) // in the order of the states
	if len(letter) > 1 || i < 0 {
		record.Fail(fmt.Sprintf("state %q of a record", fault.Clip(letter)))
		return StateUnknown
	}
	return StateSending + State(i)
}

// parseCharge parses the charge of a record.
func parseCharge(y string) (account, attempt string, former []string) {
	words := strings.Fields(y)
	if len(words) < 2 {
		return "", "", nil
	}
	for i, w := range words[:2] {
		if w == script.NoValue {
			words[i] = ""
		}
	}
	if len(words) > 2 {
		former = words[2:]
	}
	return words[0], words[1], former
}

// readLate reads the reason of a late message.
func (s *Info) readLate() {
	if late, ok := policy.ReadLate(s.Reason); ok {
		s.Reason = ReasonLate
		s.InTheWay, s.InTheWayCategory = late.InTheWay, late.Category
		s.InQuietHours, s.DoNotDisturb = late.QuietHours, late.DoNotDisturb
	}
}

// promised returns the promised send time.
func (s Info) promised() time.Time {
	if s.Promised.IsZero() {
		return s.SendAt
	}
	return s.Promised
}
