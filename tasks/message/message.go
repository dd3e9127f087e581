package message

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// MaxContent is how many bytes title, body and data have together at most.
const MaxContent = 4096

// MaxCategory is how many bytes a category has at most.
const MaxCategory = 64

// DefaultShift is how far after its send time a shift may go.
const DefaultShift = 24 * time.Hour

// What to do about a conflict.
const (
	OnConflictRefuse = "refuse" // say why not
	OnConflictShift  = "shift"  // take the next free time
)

// Message is a push to be sent to a user at a future time.
type Message struct {
	// ID is the idempotency key, unique per user; made up when empty.
	ID   string
	User string
	// SendAt is cut to the millisecond. With Now it is not looked at.
	SendAt time.Time
	// Now asks for a send as soon as the rules allow: now, or, unless
	// OnConflict says otherwise, the next free time.
	Now      bool
	Category string
	Title    string
	Body     string
	Data     map[string]string
	// ExpiresAt is when the message is dropped rather than sent; the zero
	// value leaves it to the worker's default after the send time.
	ExpiresAt time.Time
	// OnConflict is OnConflictRefuse, OnConflictShift or, for what the user's policy
	// says, empty.
	OnConflict string
	// ShiftUntil is the last send time a shift may take; the zero value means
	// DefaultShift after SendAt. Where OnConflict leaves it to the user's policy, and
	// that refuses, it has no effect. Beside OnConflictRefuse it is not allowed.
	ShiftUntil time.Time
	// Account is who sends: the account charged; empty without accounts. It is
	// never read from a request.
	Account string
}

// Validate says what in the message is outside what the contract allows; its
// time against the clock is judged at submit. The error is a
// *sendlimit.InvalidError.
func (m Message) Validate() error {
	if m.ID != "" && !keyspace.ValidID(m.ID) {
		return NotAllowed("id", m.ID, "1 to %d of A-Z a-z 0-9 . _ : -", keyspace.MaxID)
	}
	if !keyspace.ValidUser(m.User) {
		return NotAllowed("user", m.User, "1 to %d bytes of UTF-8 without control characters", keyspace.MaxUser)
	}
	if !m.Now && m.SendAt.IsZero() {
		return missingSendAt()
	}
	if err := CheckCategory(m.Category); err != nil {
		return err
	}
	if err := m.validateContent(); err != nil {
		return err
	}
	return m.validateTimes()
}

func (m Message) validateContent() error {
	if m.Title == "" && m.Body == "" {
		return NotAllowed("title", "", "a text, where there is no body")
	}
	if !utf8.ValidString(m.Title) {
		return NotAllowed("title", strings.ToValidUTF8(m.Title, "�"), "text in UTF-8")
	}
	if !utf8.ValidString(m.Body) {
		return NotAllowed("body", strings.ToValidUTF8(m.Body, "�"), "text in UTF-8")
	}
	size := len(m.Title) + len(m.Body)
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		size += len(key) + len(m.Data[key])
		if !utf8.ValidString(key) || !utf8.ValidString(m.Data[key]) {
			return NotAllowed("data", strings.ToValidUTF8(key, "�"), "text in UTF-8")
		}
	}
	if size > MaxContent {
		// The content itself stays out of the sentence: it is long, and private.
		return NotAllowed("body", fmt.Sprintf("%d bytes with title and data", size), "at most %d bytes together", MaxContent)
	}
	return nil
}

func (m Message) validateTimes() error {
	switch m.OnConflict {
	case "", OnConflictRefuse, OnConflictShift:
	default:
		return NotAllowed("on_conflict", m.OnConflict, "refuse or shift")
	}
	if !m.ShiftUntil.IsZero() {
		if m.OnConflict == OnConflictRefuse {
			return NotAllowed("shift_until", m.ShiftUntil.UTC().Format(time.RFC3339Nano), "on_conflict shift beside it")
		}
		if !m.Now && m.ShiftUntil.UnixMilli() < m.SendAt.UnixMilli() {
			return NotAllowed("shift_until", m.ShiftUntil.UTC().Format(time.RFC3339Nano), "a time not before send_at")
		}
	}
	if !m.Now && !m.ExpiresAt.IsZero() && m.ExpiresAt.UnixMilli() <= m.SendAt.UnixMilli() {
		return NotAllowed("expires_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano), "a time after send_at")
	}
	return nil
}

// shifts reports whether a conflict is answered by the next free time.
func (m Message) Shifts() bool {
	return m.OnConflict == OnConflictShift || m.Now && m.OnConflict == ""
}

// CheckCategory says whether a category may have the name; "" is that of messages
// without one. Whether the rules know it makes no difference: one that they do not
// has none of its own. The error is a *sendlimit.InvalidError.
func CheckCategory(name string) error {
	if len(name) > MaxCategory || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return NotAllowed("category", name, "1 to %d of a-z 0-9 _ -", MaxCategory)
	}
	return nil
}

func NotAllowed(field, value, want string, args ...any) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Value: value, Want: fmt.Sprintf(want, args...)}
}
