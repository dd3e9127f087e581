package messages

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Change is a change of a message.
type Change struct {
	At   time.Time
	What string // see the constants

	// SendAt is the send time after the change, or of a retry. FormerSendAt is the send time
	// before. Both are zero if they do not apply.
	SendAt       time.Time
	FormerSendAt time.Time

	// Until is when a waiting message of a paused campaign expires; else zero.
	Until time.Time

	// Attempt is the number of the delivery that failed, was taken over, or ended the message; else
	// 0.
	Attempt int

	// As in Info. A reason of more than about 20 bytes may be cut.
	Reason           string
	InTheWay         policy.Rule
	InTheWayCategory string
	InQuietHours     bool
	DoNotDisturb     bool
}

// Values of Change.What.
const (
	ChangeAccepted  = "accepted"
	ChangeMoved     = "moved"
	ChangeReplaced  = "replaced"   // by another message with its id
	ChangeChanged   = "changed"    // content, metadata or expires_at; the reason says which
	ChangePostponed = "postponed"  // it was late: it is sent now, or later if no time is free
	ChangeRetry     = "retry"      // a delivery failed, and is retried at SendAt
	ChangeTakenOver = "taken_over" // a delivery was not settled in time; another one began
	ChangeRevived   = "revived"    // a dead letter became pending again
	ChangePaused    = "paused"     // it was due, and waits for its paused campaign; once a pause
	ChangeResumed   = "resumed"    // its campaign was resumed
	ChangeDelivered = "delivered"  // At is when the delivery began
	ChangeCancelled = "cancelled"
	ChangeDropped   = "dropped"
	ChangeFailed    = "failed"
	ChangeUncertain = "uncertain"
)

// MaxHistory is how many changes of a message are kept, including its accept and its end.
const MaxHistory = 16

// changeWord returns the word for a letter of lua/fragments/history.lua, "" for a letter of a newer
// program.
func changeWord(letter string) string {
	words := [...]string{
		'm': ChangeMoved, 'e': ChangeReplaced, 'c': ChangeChanged, 'p': ChangePostponed, 'r': ChangeRetry, 'o': ChangeTakenOver,
		'v': ChangeRevived, 'w': ChangePaused, 'g': ChangeResumed, 'f': ChangeFailed, 'u': ChangeUncertain,
	}
	if len(letter) != 1 || int(letter[0]) >= len(words) {
		return ""
	}
	return words[letter[0]]
}

// historyFields lists the fields that historyOf reads in addition to the InfoFields.
func historyFields() []string {
	return append([]string{keyspace.RecordAcceptedAt, keyspace.RecordChanges}, keyspace.HistoryFields()...)
}

// historyOf returns the last changes of a message, at most MaxHistory, oldest first.
func historyOf(s Info, record *script.Fields) []Change {
	if s.State == StateUnknown {
		return nil
	}
	noted, all := notedIn(record)
	var history []Change
	if accepted := record.Time(keyspace.RecordAcceptedAt); all && !accepted.IsZero() {
		history = append(history, Change{At: accepted, What: ChangeAccepted, SendAt: s.firstSendAt(noted)})
	}
	history = append(history, noted...)
	if !s.EndedAt.IsZero() {
		history = append(history, s.end())
	}
	return history[max(0, len(history)-MaxHistory):]
}

// notedIn reads the changes in a record, oldest first, and reports whether they are all that there
// were. It omits changes that it can't read.
func notedIn(record *script.Fields) (noted []Change, all bool) {
	fields, total := keyspace.HistoryFields(), record.Int(keyspace.RecordChanges)
	kept := int64(len(fields))
	for n := max(0, total-kept); n < total; n++ {
		if c, ok := parseChange(record.Text(fields[n%kept])); ok {
			noted = append(noted, c)
		}
	}
	return noted, total <= kept
}

// parseChange parses a change of lua/fragments/history.lua.
func parseChange(text string) (c Change, ok bool) {
	words := strings.SplitN(text, " ", 6)
	if len(words) != 6 || changeWord(words[0]) == "" {
		return Change{}, false
	}
	ms, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return Change{}, false
	}
	c = Change{At: time.UnixMilli(ms).UTC(), What: changeWord(words[0])}
	for i, at := range []*time.Time{&c.SendAt, &c.FormerSendAt} {
		word := words[2+i]
		if word == script.NoValue {
			continue
		}
		after, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return Change{}, false
		}
		*at = time.UnixMilli(ms + after).UTC()
	}
	if c.What == ChangePaused {
		c.SendAt, c.Until = time.Time{}, c.SendAt
	}
	if words[4] != script.NoValue {
		if c.Attempt, err = strconv.Atoi(words[4]); err != nil {
			return Change{}, false
		}
	}
	if words[5] != script.NoValue {
		c.explain(strings.ToValidUTF8(words[5], ""))
	}
	return c, true
}

// explain sets the reason as a record has it.
func (c *Change) explain(reason string) {
	s := Info{Reason: reason}
	s.readLate()
	c.Reason, c.InTheWay, c.InTheWayCategory, c.InQuietHours, c.DoNotDisturb = s.Reason, s.InTheWay, s.InTheWayCategory, s.InQuietHours, s.DoNotDisturb
}

// firstSendAt returns the send time that was accepted, given all changes.
func (s Info) firstSendAt(changes []Change) time.Time {
	for _, c := range changes {
		if !c.FormerSendAt.IsZero() {
			return c.FormerSendAt
		}
	}
	return s.promised()
}

// end returns the change that ended the message.
func (s Info) end() Change {
	c := Change{At: s.EndedAt, What: s.State.String()}
	switch s.State {
	case StateDelivered:
		c.Attempt = s.Attempts
	case StateFailed, StateUncertain:
		c.Attempt, c.Reason = s.Attempts, s.Reason
	case StateDropped:
		c.Reason = s.Reason
	case StateUnknown, StatePending, StateSending, StateCancelled:
	}
	return c
}
