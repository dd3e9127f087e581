package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

// deviceLine is a line of a file of devices, NDJSON or CSV. Errors show no token and no
// subscription.
type deviceLine struct {
	number  int
	user    string
	device  client.DeviceDraft
	invalid error // a *fault.InvalidError; nil if there is a device
}

// deviceObject is a line of NDJSON.
type deviceObject struct {
	client.DeviceDraft

	User string `json:"user"`
}

// deviceColumns returns the optional and the required columns of a CSV file.
func deviceColumns() (known, required []string) {
	return []string{"user", "channel", "token", "subscription", "id", "app", "locale"}, []string{"user", "channel"}
}

// parseDevice returns the line of a row.
func parseDevice(row input.Row) deviceLine {
	l := deviceLine{number: row.Line}
	var o deviceObject
	switch {
	case row.Invalid != nil:
		l.invalid = row.Invalid
	case row.JSON != nil:
		o, l.invalid = parseDeviceJSON(row.JSON)
	default:
		o, l.invalid = parseDeviceFields(row.Fields)
	}
	l.user, l.device = o.User, o.DeviceDraft
	return l
}

func parseDeviceJSON(text []byte) (o deviceObject, err error) {
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
		field := strings.TrimPrefix(wrong.Field, "DeviceDraft.") // which deviceObject embeds
		return o, fault.Wrong(field, "%s has the wrong type: %s", field, kindOf(wrong.Value))
	case strings.HasPrefix(err.Error(), unknown):
		return o, fault.Wrong("line", "unknown field %s", strings.TrimPrefix(err.Error(), unknown))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return o, fault.Wrong("line", "the JSON ends too early")
	default:
		return o, fault.Wrong("line", "the line is not a JSON object")
	}
}

// kindOf returns the kind of a JSON value, without the value.
func kindOf(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

func parseDeviceFields(fields map[string]string) (deviceObject, error) {
	o := deviceObject{User: fields["user"], DeviceDraft: client.DeviceDraft{
		ID: fields["id"], Channel: fields["channel"], Token: fields["token"], App: fields["app"], Locale: fields["locale"],
	}}
	if text, given := fields["subscription"]; given {
		if json.Unmarshal([]byte(text), &o.Subscription) != nil {
			return o, fault.Wrong("subscription", "subscription is not a JSON object")
		}
	}
	return o, nil
}
