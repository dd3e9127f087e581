package message

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// MaxContent is the maximum size of title, body and data together, in bytes.
const MaxContent = 4096

// MaxCategory is the maximum length of a category, in bytes.
const MaxCategory = 64

// DefaultShift is the default of how far after its send time a message may be shifted.
const DefaultShift = 24 * time.Hour

// Values of Message.OnConflict.
const (
	OnConflictRefuse = "refuse" // refuse the message
	OnConflictShift  = "shift"  // use the next free time
)

// Message is a push to be sent to a user at a future time.
type Message struct {
	// ID is the idempotency key, unique per user. An empty one is replaced by a new UUID.
	ID   string
	User string
	// SendAt is truncated to the millisecond. It is ignored if Now is set.
	SendAt time.Time
	// Window asks for a free time in a window instead of SendAt; nil for none.
	Window *Window
	// Now asks for the earliest time that the rules allow: now, or the next free time unless
	// OnConflict says otherwise.
	Now      bool
	Category string
	Title    string
	Body     string
	Data     map[string]string
	PushContent
	// Campaign is a name in common, to count, pause, move and cancel messages together.
	Campaign string
	// Metadata belongs to the caller. The provider receives it, and the status keeps it after the
	// message has ended.
	Metadata map[string]string
	// ExpiresAt is the time from which on the message is dropped. The zero value means the
	// worker's default after the send time.
	ExpiresAt time.Time
	// OnConflict is OnConflictRefuse or OnConflictShift. If it is empty, the user's policy
	// decides.
	OnConflict string
	// Late says what becomes of the message if SendAt has passed when it is submitted, as
	// policy.ParseLate reads it: it is refused, or sent now. An empty one means what the user's policy
	// says.
	Late string
	// ShiftUntil is the last send time that a shift may choose. The zero value means DefaultShift
	// after SendAt. It is not allowed with OnConflictRefuse, and has no effect if the user's
	// policy refuses.
	ShiftUntil time.Time
	// Local has the local times that Resolve turns into SendAt, ExpiresAt, ShiftUntil and the ends of
	// Window; nil for none.
	Local *LocalTimes
	// WithoutFreeTimes omits the free times from a refusal of the send time, which makes it
	// cheaper for the store. It has no effect on a message that shifts. It is not part of the
	// message: a repeated submit may have another value.
	WithoutFreeTimes bool
	// Account is the account that is charged; empty without accounts. It never comes from a
	// request.
	Account string
}

func wrongID(id string) *fault.InvalidError {
	return NotAllowed("id", id, "1 to %d of A-Z a-z 0-9 . _ : -", keyspace.MaxID)
}

// Validate checks the fields of the message. It does not compare times with the clock; submit does.
// The error is a *fault.InvalidError, or fault.InvalidErrors for several fields.
func (m Message) Validate() error {
	var wrong fault.InvalidErrors
	m.validateNames(&wrong)
	if m.Title == "" && m.Body == "" {
		wrong.Add(missingText())
	}
	m.validateContent(&wrong)
	m.validateTimes(&wrong)
	return wrong.Err()
}

// ValidateSent is Validate for a message that another system has sent. It may lack title and body.
func (m Message) ValidateSent() error {
	var wrong fault.InvalidErrors
	m.validateNames(&wrong)
	if m.Window != nil {
		wrong.Add(fault.Wrong("window", "window is for messages to be sent: send_at says when this one was sent"))
	}
	if m.Local != nil && m.Local.FollowZone {
		wrong.Add(fault.Wrong("follow_zone", "follow_zone is for messages to be sent: leave it out"))
	}
	m.validateContent(&wrong)
	m.validateTimes(&wrong)
	return wrong.Err()
}

// validateNames checks ids and names, and that there is a send time.
func (m Message) validateNames(wrong *fault.InvalidErrors) {
	if m.ID != "" && !keyspace.ValidID(m.ID) {
		wrong.Add(wrongID(m.ID))
	}
	wrong.Add(keyspace.CheckUser(m.User))
	if !m.hasSendAt() && (m.Window == nil || m.Window.Prefer == policy.PreferNearest) {
		wrong.Add(missingSendAt())
	}
	wrong.Add(CheckCategory(m.Category))
	wrong.Add(keyspace.CheckCampaign(m.Campaign))
	m.validateMetadata(wrong)
}

func (m Message) validateContent(wrong *fault.InvalidErrors) {
	if !utf8.ValidString(m.Title) {
		wrong.Add(fault.Wrong("title", "title is not valid UTF-8"))
	}
	if !utf8.ValidString(m.Body) {
		wrong.Add(fault.Wrong("body", "body is not valid UTF-8"))
	}
	size, readable := len(m.Title)+len(m.Body), true
	for _, key := range sortedKeys(m.Data) {
		size += len(key) + len(m.Data[key])
		if readable && (!utf8.ValidString(key) || !utf8.ValidString(m.Data[key])) {
			readable = false // one error for data
			wrong.Add(fault.Wrong("data", "data %q is not valid UTF-8", strings.ToValidUTF8(fault.Clip(key), "�")))
		}
	}
	if size > MaxContent {
		// The error does not quote the content, which is long and private.
		wrong.Add(fault.Wrong("body", "title, body and data are %d bytes together: the limit is %d", size, MaxContent))
	}
	m.validate(wrong)
}

func (m Message) validateTimes(wrong *fault.InvalidErrors) {
	switch m.OnConflict {
	case "", OnConflictRefuse, OnConflictShift:
	default:
		wrong.Add(NotAllowed("on_conflict", m.OnConflict, "refuse or shift"))
	}
	if m.Late != "" {
		_, err := policy.ParseLate(m.Late)
		wrong.Add(err)
	}
	m.validateWindow(wrong)
	m.validateFollowZone(wrong)
	until := !m.ShiftUntil.IsZero() || m.Local != nil && m.Local.ShiftUntil != LocalTime{}
	if until && m.OnConflict == OnConflictRefuse {
		wrong.Add(fault.Wrong("shift_until", "shift_until needs on_conflict shift: on_conflict is refuse"))
	}
	if m.Local == nil { // otherwise they are compared once they are resolved
		m.compareTimes(wrong)
	}
}

// compareTimes checks the order of the times.
func (m Message) compareTimes(wrong *fault.InvalidErrors) {
	if m.Window != nil {
		m.compareWindow(wrong)
		m.Now = true // there is no send time
	}
	switch {
	case m.ShiftUntil.IsZero() || m.OnConflict == OnConflictRefuse:
	case !m.Now && m.ShiftUntil.UnixMilli() < m.SendAt.UnixMilli():
		wrong.Add(fault.Wrong("shift_until", "shift_until, %s, is before send_at", m.ShiftUntil.UTC().Format(time.RFC3339Nano)))
	}
	switch {
	case m.ExpiresAt.IsZero():
	case !m.Now && m.ExpiresAt.UnixMilli() <= m.SendAt.UnixMilli():
		wrong.Add(fault.Wrong("expires_at", "expires_at, %s, is not after send_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano)))
	case !calendar.InYears(m.ExpiresAt):
		wrong.Add(NotAllowed("expires_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano), "%s", calendar.WantYears))
	}
}

// Shifts reports whether the message asks for the next free time on a conflict.
func (m Message) Shifts() bool {
	return m.OnConflict == OnConflictShift || m.Now && m.OnConflict == ""
}

// CheckCategory checks the name of a category; "" means none. The policy need not have the
// category. The error is a *fault.InvalidError.
func CheckCategory(name string) error {
	if len(name) > MaxCategory || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return NotAllowed("category", name, "1 to %d of a-z 0-9 _ -", MaxCategory)
	}
	return nil
}

// NotAllowed returns the error for a value that is not allowed; want describes allowed ones.
func NotAllowed(field, value, want string, args ...any) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Value: value, Want: fmt.Sprintf(want, args...)}
}
