package message

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Draft is a message as a caller writes it, in a request or in a line of a file. Its
// times are text.
type Draft struct {
	ID         string            `json:"id,omitempty"`
	User       string            `json:"user"`
	SendAt     string            `json:"send_at"`
	Category   string            `json:"category,omitempty"`
	Title      string            `json:"title,omitempty"`
	Body       string            `json:"body,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	ExpiresAt  string            `json:"expires_at,omitempty"`
	OnConflict string            `json:"on_conflict,omitempty"`
	ShiftUntil string            `json:"shift_until,omitempty"`
}

// DraftFields returns the names of a Draft's fields in JSON and CSV.
func DraftFields() []string {
	return []string{
		"id", "user", "send_at", "category", "title", "body", "data", "expires_at", "on_conflict", "shift_until",
	}
}

// DecodeDraft reads a Draft from a JSON object. The error is a
// *fault.InvalidError that names the field; an unknown field is an error.
func DecodeDraft(text []byte) (Draft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return Draft{}, err
	}
	var d Draft
	if err := d.take(fields); err != nil {
		return Draft{}, err
	}
	if err := unknownField(fields, DraftFields()); err != nil {
		return Draft{}, err
	}
	return d, nil
}

// fieldsOf reads a JSON object. It uses a map because the names of fields are case
// sensitive: decoding into a struct would accept "User" for user.
func fieldsOf(text []byte) (map[string]json.RawMessage, error) {
	if err := CheckJSON(text, "message"); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, notAnObject(err)
	}
	if fields == nil {
		return nil, fault.Wrong("message", "the message is null: it has to be a JSON object")
	}
	return fields, nil
}

// unknownField returns an error for the first field that is left, nil for none.
func unknownField(fields map[string]json.RawMessage, known []string) error {
	if len(fields) == 0 {
		return nil
	}
	unknown := slices.Sorted(maps.Keys(fields))
	return UnknownField(unknown[0], known)
}

// UnknownField returns the error for a field that does not exist.
func UnknownField(field string, known []string) *fault.InvalidError {
	return fault.Wrong(field, "unknown field %q: there are %s", fault.Clip(field), strings.Join(known, ", "))
}

// takeText reads a field into a string and removes it. A null is an absent field.
func takeText(fields map[string]json.RawMessage, name string, into *string) error {
	text, given := fields[name]
	if !given {
		return nil
	}
	delete(fields, name)
	if err := json.Unmarshal(text, into); err != nil {
		return wrongType(name, err, "a text")
	}
	return nil
}

// take reads the fields of a draft and removes them.
func (d *Draft) take(fields map[string]json.RawMessage) error {
	id, givenID := fields["id"]
	givenID = givenID && string(id) != "null"
	for _, known := range []struct {
		name string
		into *string
	}{
		{"id", &d.ID},
		{"user", &d.User},
		{"send_at", &d.SendAt},
		{"category", &d.Category},
		{"title", &d.Title},
		{"body", &d.Body},
		{"expires_at", &d.ExpiresAt},
		{"on_conflict", &d.OnConflict},
		{"shift_until", &d.ShiftUntil},
	} {
		if err := takeText(fields, known.name, known.into); err != nil {
			return err
		}
	}
	if givenID && d.ID == "" {
		return wrongID("") // a caller who means to send one must not get a new one each time
	}
	text, given := fields["data"]
	if !given {
		return nil
	}
	delete(fields, "data")
	var data map[string]*string // a pointer tells null from ""
	if err := json.Unmarshal(text, &data); err != nil {
		return wrongType("data", err, "an object of texts")
	}
	for key, value := range data {
		if value == nil {
			return fault.Wrong("data", "data.%s is null: it has to be a text", fault.Clip(key))
		}
		if d.Data == nil {
			d.Data = make(map[string]string, len(data))
		}
		d.Data[key] = *value
	}
	return nil
}

func wrongType(field string, err error, want string) *fault.InvalidError {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.Wrong(field, "%s is a JSON %s: it has to be %s", field, wrong.Value, want)
	}
	return fault.Wrong(field, "%s has to be %s: %v", field, want, err)
}

func notAnObject(err error) *fault.InvalidError {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.Wrong("message", "the message is a JSON %s: it has to be a JSON object", wrong.Value)
	}
	return fault.Wrong("message", "the message is no JSON object: %v", err)
}

// TimeParser reads a time of a draft. It reports now for the word "now".
type TimeParser func(text string) (at time.Time, now bool, err error)

// ParseTime is the TimeParser of the API: it reads an RFC 3339 time with its zone, or
// "now". The error says what is allowed; it does not name the field.
func ParseTime(text string) (at time.Time, now bool, err error) {
	if text == "now" {
		return time.Time{}, true, nil
	}
	at, err = time.Parse(time.RFC3339Nano, text)
	if err != nil || !strict(text) {
		return time.Time{}, false, errNotRFC3339
	}
	if at = at.UTC().Truncate(time.Millisecond); at.IsZero() { // would read as no time at all
		return time.Time{}, false, errNotRFC3339
	}
	if !fourDigits(at) {
		return time.Time{}, false, errNotInYears
	}
	return at, false, nil
}

// strict rejects what Go accepts although it is not RFC 3339: an hour of one digit, a
// comma before the fraction, an offset of 24 hours or 60 minutes.
func strict(text string) bool {
	if text[len("2006-01-02T15")] != ':' || strings.Contains(text, ",") {
		return false
	}
	offset := text[len(text)-len("07:00"):]
	return strings.HasSuffix(text, "Z") || offset[:2] < "24" && offset[3:] < "60"
}

// fourDigits reports whether RFC 3339 can write a time in UTC. The zone of a time can
// move it out of these years.
func fourDigits(at time.Time) bool {
	year := at.UTC().Year()
	return 1 <= year && year <= 9999
}

var (
	errNotRFC3339 = errors.New("an RFC 3339 time such as 2040-06-22T11:11:11Z")
	errNotInYears = errors.New("a time of the years 1 to 9999 in UTC")
)

// Message returns the draft as a Message, with times read by parse. The error is a
// *fault.InvalidError for what can't be read; Message.Validate checks the rest.
func (d Draft) Message(parse TimeParser) (Message, error) {
	m := Message{
		ID: d.ID, User: d.User, Category: d.Category, Title: d.Title, Body: d.Body, Data: d.Data,
		OnConflict: d.OnConflict,
	}
	if d.SendAt == "" {
		return m, missingSendAt()
	}
	at, now, err := parse(d.SendAt)
	if err != nil {
		return m, unreadable("send_at", d.SendAt, err)
	}
	m.SendAt, m.Now = at, now
	for _, optional := range []struct {
		field, text string
		into        *time.Time
	}{
		{"expires_at", d.ExpiresAt, &m.ExpiresAt},
		{"shift_until", d.ShiftUntil, &m.ShiftUntil},
	} {
		if optional.text == "" {
			continue
		}
		at, now, err := parse(optional.text)
		if err == nil && now {
			err = errNotRFC3339
		}
		if err != nil {
			return m, unreadable(optional.field, optional.text, err)
		}
		*optional.into = at
	}
	return m, nil
}

func missingSendAt() *fault.InvalidError {
	return fault.Wrong("send_at", "send_at is required: an RFC 3339 time such as 2040-06-22T11:11:11Z, or now")
}

func unreadable(field, value string, err error) *fault.InvalidError {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return &fault.InvalidError{Field: field, Value: value, Want: wrong.Want, Says: wrong.Says}
	}
	return &fault.InvalidError{Field: field, Value: value, Want: err.Error()}
}
