package devicefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/device"
	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// line is a line of a file.
type line struct {
	number  int
	user    string
	device  devices.Device
	invalid error // a *fault.InvalidError; nil if there is a device
}

// object is what a line of NDJSON has.
type object struct {
	message.DeviceDraft

	User string `json:"user"`
}

// Columns returns the columns that a CSV file may have, and those it must have.
func Columns() (known, required []string) {
	return []string{"user", "channel", "token", "subscription", "id", "app", "locale"}, []string{"user", "channel"}
}

// parse returns the line of a row.
func parse(row input.Row, options Options) line {
	l := line{number: row.Line}
	var o object
	switch {
	case row.Invalid != nil:
		l.invalid = row.Invalid
	case row.JSON != nil:
		o, l.invalid = parseJSON(row.JSON)
	default:
		o, l.invalid = parseFields(row.Fields)
	}
	l.user = o.User
	if l.invalid == nil {
		l.invalid = keyspace.CheckUser(o.User)
	}
	if l.invalid == nil {
		l.device, l.invalid = device.Parse(o.DeviceDraft, options.Account, options.Check)
	}
	return l
}

func parseJSON(text []byte) (o object, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&o)
	if err == nil && decoder.More() {
		return o, fault.Wrong("line", "the line has more than one JSON object")
	}
	wrong, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	const unknown = "json: unknown field "
	switch {
	case err == nil:
		return o, nil
	case mistyped && wrong.Field != "":
		field := strings.TrimPrefix(wrong.Field, "DeviceDraft.") // which object embeds
		return o, fault.Wrong(field, "%s has the wrong type: it is a JSON %s", field, kindOf(wrong.Value))
	case strings.HasPrefix(err.Error(), unknown):
		return o, fault.Wrong("line", "unknown field %s", strings.TrimPrefix(err.Error(), unknown))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return o, fault.Wrong("line", "the JSON ends too early")
	default:
		return o, fault.Wrong("line", "the line is no JSON object")
	}
}

// kindOf returns the kind of a JSON value, without the value.
func kindOf(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

func parseFields(fields map[string]string) (object, error) {
	o := object{User: fields["user"], DeviceDraft: message.DeviceDraft{
		ID: fields["id"], Channel: fields["channel"], Token: fields["token"], App: fields["app"], Locale: fields["locale"],
	}}
	if text, given := fields["subscription"]; given {
		if json.Unmarshal([]byte(text), &o.Subscription) != nil {
			return o, fault.Wrong("subscription", "subscription is no JSON object")
		}
	}
	return o, nil
}
