package message

import (
	"time"
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

// Validate returns a *fault.InvalidError for a field that is not allowed.
func (m Move) Validate() error {
	shifts := Message{SendAt: m.At, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil}
	if shifts.OnConflict == "" {
		shifts.OnConflict = OnConflictRefuse
	}
	return shifts.validateTimes()
}

// MoveDraft is the request to move a message.
type MoveDraft struct {
	SendAt     string `json:"send_at"` // as in Draft
	OnConflict string `json:"on_conflict,omitempty"`
	ShiftUntil string `json:"shift_until,omitempty"`
}

// DecodeMove reads a MoveDraft from a JSON object. The error is a
// *fault.InvalidError that names the field; an unknown field is an error.
func DecodeMove(text []byte) (MoveDraft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return MoveDraft{}, err
	}
	var d MoveDraft
	for _, known := range []struct {
		name string
		into *string
	}{
		{"send_at", &d.SendAt}, {"on_conflict", &d.OnConflict}, {"shift_until", &d.ShiftUntil},
	} {
		if err := takeText(fields, known.name, known.into); err != nil {
			return MoveDraft{}, err
		}
	}
	return d, unknownField(fields, []string{"send_at", "on_conflict", "shift_until"})
}

// Move returns the draft as a Move, with times read by parse. The error is a
// *fault.InvalidError for what can't be read or is not allowed.
func (d MoveDraft) Move(parse TimeParser) (Move, error) {
	m, err := Draft{SendAt: d.SendAt, OnConflict: d.OnConflict, ShiftUntil: d.ShiftUntil}.Message(parse)
	if err != nil {
		return Move{}, err
	}
	move := Move{At: m.SendAt, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil}
	return move, move.Validate()
}
