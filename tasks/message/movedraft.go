package message

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Move is the new send time that a caller wants for a message.
type Move struct {
	At  time.Time // the send time; ignored with Now
	Now bool      // as soon as possible
	// OnConflict says what to do if the time is not free: OnConflictShift takes the next
	// free time, OnConflictRefuse or "" keeps the message where it is. The user's policy
	// does not decide, as a message that already has a time must not jump by surprise.
	OnConflict string
	// ShiftUntil is the last time that a shift may choose; zero means DefaultShift after
	// the wanted time. It requires OnConflictShift.
	ShiftUntil time.Time
}

// Validate checks the fields. The error is a *fault.InvalidError, or fault.InvalidErrors
// for several fields.
func (m Move) Validate() error { return m.validate(time.Time{}) }

// validate is Validate of a move that also sets when the message expires; zero for a move that
// does not.
func (m Move) validate(expires time.Time) error {
	shifts := Message{SendAt: m.At, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil, ExpiresAt: expires}
	if shifts.OnConflict == "" {
		shifts.OnConflict = OnConflictRefuse
	}
	var wrong fault.InvalidErrors
	shifts.validateTimes(&wrong)
	return wrong.Err()
}

// Patch is a change of a message: of its send time, of what it says, or of both at once.
type Patch struct {
	Move *Move // nil for none
	Edit Edit
}

// Validate checks the times. What the message says is checked once it is known what it has.
// The error is as that of Move.Validate.
func (p Patch) Validate() error {
	var expires time.Time
	if p.Edit.ExpiresAt != nil {
		expires = *p.Edit.ExpiresAt
	}
	if p.Move != nil {
		return p.Move.validate(expires)
	}
	return Move{Now: true}.validate(expires)
}

// MoveDraft is the request to move or change a message, a JSON merge patch (RFC 7396): what
// is absent stays as it is, and null removes it. It needs SendAt unless it has something to
// edit.
type MoveDraft struct {
	SendAt     string             `json:"send_at,omitempty"` // as in Draft
	OnConflict string             `json:"on_conflict,omitempty"`
	ShiftUntil string             `json:"shift_until,omitempty"`
	Title      *string            `json:"title,omitempty"`
	Body       *string            `json:"body,omitempty"`
	Data       map[string]*string `json:"data,omitempty"`
	Metadata   map[string]*string `json:"metadata,omitempty"`
	ExpiresAt  *string            `json:"expires_at,omitempty"`

	moves, edits             bool    // it has send_at, or one of the fields from title on, even if that is empty
	clearData, clearMetadata bool    // they are null
	faults                   *Faults // as in Draft
}

// DecodeMove reads a MoveDraft from a JSON object. As with DecodeDraft, MoveDraft.Patch
// names single fields that are wrong.
func DecodeMove(text []byte) (MoveDraft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return MoveDraft{}, err
	}
	isNull := func(name string) bool { return string(fields[name]) == "null" }
	_, moves := fields["send_at"]
	edits := false
	for _, name := range []string{"title", "body", "data", "metadata", "expires_at"} {
		_, given := fields[name]
		edits = edits || given
	}
	cleared := [...]bool{isNull("title"), isNull("body"), isNull("expires_at"), isNull("data"), isNull("metadata")}
	d, faults, err := DecodeMembers[MoveDraft](fields)
	if err != nil {
		return MoveDraft{}, notAnObject(err)
	}
	for i, text := range []**string{&d.Title, &d.Body, &d.ExpiresAt} {
		if cleared[i] {
			*text = new(string)
		}
	}
	d.moves, d.edits, d.clearData, d.clearMetadata = moves, edits, cleared[3], cleared[4]
	d.faults = &faults
	return d, nil
}

// Patch returns the draft as a Patch, with times read by parse. The error is a
// *fault.InvalidError, or fault.InvalidErrors if several fields can't be read or are not
// allowed.
func (d MoveDraft) Patch(parse TimeParser) (Patch, error) {
	p := Patch{Edit: Edit{
		Title: d.Title, Body: d.Body, Data: d.Data, Metadata: d.Metadata, ClearData: d.clearData, ClearMetadata: d.clearMetadata,
	}}
	times := Draft{SendAt: d.SendAt, OnConflict: d.OnConflict, ShiftUntil: d.ShiftUntil, faults: d.faults}
	if d.ExpiresAt != nil {
		times.ExpiresAt = *d.ExpiresAt
		p.Edit.ExpiresAt = new(time.Time)
	}
	moves := d.moves || d.SendAt != "" || d.OnConflict != "" || d.ShiftUntil != "" || !d.edits && p.Edit.None()
	if !moves {
		times.SendAt = "now" // it is not used
	}
	m, faults := times.parse(parse)
	if d.ExpiresAt != nil {
		*p.Edit.ExpiresAt = m.ExpiresAt
	}
	if moves {
		p.Move = &Move{At: m.SendAt, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil}
	}
	return p, faults.With(p.Validate())
}
