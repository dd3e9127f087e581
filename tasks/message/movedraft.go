package message

import (
	"time"
)

// MoveDraft is the request to move a message.
type MoveDraft struct {
	SendAt string `json:"send_at"` // as in Draft
}

// DecodeMove reads a MoveDraft from a JSON object. The error is a
// *fault.InvalidError that names the field; an unknown field is an error.
func DecodeMove(text []byte) (MoveDraft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return MoveDraft{}, err
	}
	var d MoveDraft
	if err := takeText(fields, "send_at", &d.SendAt); err != nil {
		return MoveDraft{}, err
	}
	return d, unknownField(fields, []string{"send_at"})
}

// Time reads the new send time by parse; it is zero for "now". The error is a
// *fault.InvalidError.
func (d MoveDraft) Time(parse TimeParser) (time.Time, error) {
	if d.SendAt == "" {
		return time.Time{}, missingSendAt()
	}
	at, _, err := parse(d.SendAt)
	if err != nil {
		return time.Time{}, unreadable("send_at", d.SendAt, err)
	}
	return at, nil
}
