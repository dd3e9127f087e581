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

// MaxContent is the largest size of title, body and data together, in bytes.
const MaxContent = 4096

// MaxCategory is the largest length of a category, in bytes.
const MaxCategory = 64

// DefaultShift is how far after its send time a message may be shifted by default.
const DefaultShift = 24 * time.Hour

// Values of Message.OnConflict.
const (
	OnConflictRefuse = "refuse" // say why not
	OnConflictShift  = "shift"  // take the next free time
)

// Message is a push to be sent to a user at a future time.
type Message struct {
	// ID is the idempotency key, unique per user. An empty one is replaced by a new
	// UUID.
	ID   string
	User string
	// SendAt is truncated to the millisecond. It is ignored if Now is set.
	SendAt time.Time
	// Now asks for a send as soon as the rules allow: now, or at the next free time
	// unless OnConflict says otherwise.
	Now      bool
	Category string
	Title    string
	Body     string
	Data     map[string]string
	// ExpiresAt is the time after which the message is dropped and not sent. The zero
	// value means the worker's default after the send time.
	ExpiresAt time.Time
	// OnConflict is OnConflictRefuse or OnConflictShift. An empty one means what the
	// user's policy says.
	OnConflict string
	// ShiftUntil is the last send time that a shift may choose. The zero value means
	// DefaultShift after SendAt. It is not allowed with OnConflictRefuse, and has no
	// effect if the user's policy refuses.
	ShiftUntil time.Time
	// Account is the account that is charged; empty without accounts. It is never
	// read from a request.
	Account string
}

func wrongID(id string) *fault.InvalidError {
	return NotAllowed("id", id, "1 to %d of A-Z a-z 0-9 . _ : -", keyspace.MaxID)
}

// Validate checks the fields of the message. It does not compare times with the clock:
// that is done at submit. The error is a *fault.InvalidError.
func (m Message) Validate() error {
	if m.ID != "" && !keyspace.ValidID(m.ID) {
		return wrongID(m.ID)
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
		return fault.Wrong("title", "title or body is required: a message has at least one of them")
	}
	if !utf8.ValidString(m.Title) {
		return fault.Wrong("title", "title is not valid UTF-8")
	}
	if !utf8.ValidString(m.Body) {
		return fault.Wrong("body", "body is not valid UTF-8")
	}
	size := len(m.Title) + len(m.Body)
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		size += len(key) + len(m.Data[key])
		if !utf8.ValidString(key) || !utf8.ValidString(m.Data[key]) {
			return fault.Wrong("data", "data %q is not valid UTF-8", strings.ToValidUTF8(fault.Clip(key), "�"))
		}
	}
	if size > MaxContent {
		// The content itself stays out of the sentence: it is long, and private.
		return fault.Wrong("body", "title, body and data are %d bytes together: the limit is %d", size, MaxContent)
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
			return fault.Wrong("shift_until", "shift_until needs on_conflict shift: on_conflict is refuse")
		}
		if !m.Now && m.ShiftUntil.UnixMilli() < m.SendAt.UnixMilli() {
			return fault.Wrong("shift_until", "shift_until, %s, is before send_at", m.ShiftUntil.UTC().Format(time.RFC3339Nano))
		}
	}
	if !m.Now && !m.ExpiresAt.IsZero() && m.ExpiresAt.UnixMilli() <= m.SendAt.UnixMilli() {
		return fault.Wrong("expires_at", "expires_at, %s, is not after send_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
	if !m.ExpiresAt.IsZero() && !fourDigits(m.ExpiresAt) {
		return NotAllowed("expires_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano), "%s", errNotInYears.Error())
	}
	return nil
}

// Shifts reports whether the message itself asks for the next free time on a conflict.
func (m Message) Shifts() bool {
	return m.OnConflict == OnConflictShift || m.Now && m.OnConflict == ""
}

// CheckCategory checks the name of a category; "" means none. A policy need not know
// the category: then it has no rules of its own. The error is a *fault.InvalidError.
func CheckCategory(name string) error {
	if len(name) > MaxCategory || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return NotAllowed("category", name, "1 to %d of a-z 0-9 _ -", MaxCategory)
	}
	return nil
}

// NotAllowed returns the error for a value of a field that is not allowed; want says
// what is.
func NotAllowed(field, value, want string, args ...any) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Value: value, Want: fmt.Sprintf(want, args...)}
}
