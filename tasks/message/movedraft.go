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
func (m Move) Validate() error {
	shifts := Message{SendAt: m.At, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil}
	if shifts.OnConflict == "" {
		shifts.OnConflict = OnConflictRefuse
	}
	var wrong fault.InvalidErrors
	shifts.validateTimes(&wrong)
	return wrong.Err()
}

// MoveDraft is the request to move a message.
type MoveDraft struct {
	SendAt     string `json:"send_at"` // as in Draft
	OnConflict string `json:"on_conflict,omitempty"`
	ShiftUntil string `json:"shift_until,omitempty"`

	faults *Faults // as in Draft
}

// DecodeMove reads a MoveDraft from a JSON object. As with DecodeDraft, MoveDraft.Move
// names single fields that are wrong.
func DecodeMove(text []byte) (MoveDraft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return MoveDraft{}, err
	}
	d, faults, err := DecodeMembers[MoveDraft](fields)
	if err != nil {
		return MoveDraft{}, notAnObject(err)
	}
	d.faults = &faults
	return d, nil
}

// Move returns the draft as a Move, with times read by parse. The error is a
// *fault.InvalidError, or fault.InvalidErrors if several fields can't be read or are not
// allowed.
func (d MoveDraft) Move(parse TimeParser) (Move, error) {
	m, faults := Draft{SendAt: d.SendAt, OnConflict: d.OnConflict, ShiftUntil: d.ShiftUntil, faults: d.faults}.parse(parse)
	move := Move{At: m.SendAt, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil}
	return move, faults.With(move.Validate())
}
