package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Draft is a message as a caller spells it: the request of every surface, a
// line of a file included. Times are text.
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

// DraftFields names the fields of a Draft, as JSON and CSV spell them.
func DraftFields() []string {
	return []string{
		"id", "user", "send_at", "category", "title", "body", "data", "expires_at", "on_conflict", "shift_until",
	}
}

// DecodeDraft reads a Draft from a JSON object. The error is a
// *sendlimit.InvalidError that names the field: unknown ones are refused.
func DecodeDraft(text []byte) (Draft, error) {
	var d Draft
	if !utf8.Valid(text) {
		return d, invalid("message", strings.ToValidUTF8(string(text), "�"), "JSON in UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return Draft{}, decodeError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Draft{}, invalid("message", "more than one value", "one JSON object a line")
	}
	return d, nil
}

func decodeError(err error) *sendlimit.InvalidError {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field
		if field == "" {
			return invalid("message", "a JSON "+wrong.Value, "a JSON object")
		}
		field, _, _ = strings.Cut(field, ".")
		want := "a text"
		if field == "data" {
			want = "an object of texts"
		}
		return invalid(field, "a JSON "+wrong.Value, "%s", want)
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return invalid(strings.Trim(name, `"`), "", "no value: there is no such field; there are %s",
			strings.Join(DraftFields(), ", "))
	}
	return invalid("message", "", "a JSON object (%s)", strings.TrimPrefix(err.Error(), "json: "))
}

// TimeParser reads the time that a field holds; now reports the word "now".
type TimeParser func(text string) (at time.Time, now bool, err error)

// ParseTime is the contract's TimeParser: an RFC 3339 time with its zone, or
// "now". The error says what is wrong, without the field.
func ParseTime(text string) (at time.Time, now bool, err error) {
	if text == "now" {
		return time.Time{}, true, nil
	}
	at, err = time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, false, errNotRFC3339
	}
	return at.UTC().Truncate(time.Millisecond), false, nil
}

var errNotRFC3339 = errors.New("an RFC 3339 time such as 2026-11-22T11:11:11Z") //nolint:gochecknoglobals // a sentinel

// Message turns the draft into a Message, reading its times by parse. The
// error is a *sendlimit.InvalidError: only what cannot be read; Validate says
// the rest.
func (d Draft) Message(parse TimeParser) (Message, error) {
	m := Message{
		ID: d.ID, User: d.User, Category: d.Category, Title: d.Title, Body: d.Body, Data: d.Data,
		OnConflict: d.OnConflict,
	}
	if d.SendAt == "" {
		return m, invalid("send_at", "", "an RFC 3339 time such as 2026-11-22T11:11:11Z, or now")
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

func unreadable(field, value string, err error) *sendlimit.InvalidError {
	if wrong, ok := errors.AsType[*sendlimit.InvalidError](err); ok {
		return &sendlimit.InvalidError{Field: field, Value: value, Want: wrong.Want}
	}
	return &sendlimit.InvalidError{Field: field, Value: value, Want: err.Error()}
}
