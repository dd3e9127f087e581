package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// BodyLimits bound the body of a request.
type BodyLimits struct {
	Bytes int64
	// Time is how long a request may take to come. It is only told: who serves the
	// request sets the deadline.
	Time time.Duration
}

// ReadJSON reads the body of a request, which must be JSON of any shape. What is no JSON at
// all is a bad request; what message.CheckJSON refuses besides is an invalid field.
func (l BodyLimits) ReadJSON(r *http.Request) ([]byte, error) {
	if err := CheckMediaType(r, "application/json"); err != nil {
		return nil, err
	}
	// The limit gets no writer: it would close the connection. The server decides
	// whether to read the rest of a body or to close.
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, l.Bytes))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, unavailable := errors.AsType[*fault.UnavailableError](err)
	switch {
	case unavailable:
		return nil, err //nolint:wrapcheck // of the server, not of the connection
	case tooLarge:
		return nil, BadRequest(http.StatusRequestEntityTooLarge, "body", "a longer one", fmt.Sprintf("at most %d bytes", l.Bytes))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{Status: http.StatusRequestTimeout, Outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnavailable,
			Detail: fmt.Sprintf("the request did not come whole within %s: it can be sent again", l.Time),
		}}
	case err != nil:
		return nil, BadRequest(http.StatusBadRequest, "body", "", "to come whole ("+err.Error()+")")
	}
	if err := message.CheckJSON(text, "body"); err != nil {
		if json.Valid(text) {
			return nil, err
		}
		return nil, &Error{Status: http.StatusBadRequest, Outcome: message.OutcomeOf(err)}
	}
	return text, nil
}

// ReadBody reads the body of a request: an object with the members of T and no others.
func ReadBody[T any](l BodyLimits, r *http.Request) (T, error) {
	value, _, err := ReadMembers[T](l, r)
	return value, err
}

// ReadMembers is ReadBody, and also returns the members that the body has.
func ReadMembers[T any](l BodyLimits, r *http.Request) (value T, given map[string]json.RawMessage, err error) {
	text, err := l.ReadJSON(r)
	if err != nil {
		return value, nil, err
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return value, nil, fault.Wrong("body", "the body has to be a JSON object")
	}
	if wrong := checkMembers("", given, reflect.TypeFor[T]()); len(wrong) > 0 {
		return value, nil, wrong
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, nil, fault.Wrong("body", "the body has to be a JSON object")
	}
	return value, given, nil
}

// checkMembers returns an error for each member of an object that a struct does not have
// or that has another type. inside is the name of the object and a dot, "" for a body.
func checkMembers(inside string, given map[string]json.RawMessage, of reflect.Type) fault.InvalidErrors {
	var wrong fault.InvalidErrors
	types := membersOf(of)
	known := make([]string, len(types))
	for i, m := range types {
		known[i] = m.name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			wrong = append(wrong, message.UnknownField(Printable(inside+name), known))
			continue
		}
		wrong = append(wrong, checkMember(inside+name, given[name], types[i].of)...)
	}
	return wrong
}

// checkMember checks that a value has a type. In a map of structs it checks each struct.
func checkMember(field string, text json.RawMessage, of reflect.Type) fault.InvalidErrors {
	var given map[string]json.RawMessage
	named := of.Kind() == reflect.Map && of.Elem().Kind() == reflect.Struct
	if !named {
		return checkValue(field, text, of)
	}
	wrong := checkValue(field, text, reflect.TypeOf(given))
	if len(wrong) > 0 {
		return wrong
	}
	// It can't fail after checkValue. null has no members.
	_ = json.Unmarshal(text, &given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		inside := Printable(field + "." + name)
		var members map[string]json.RawMessage
		if bad := checkValue(inside, given[name], reflect.TypeOf(members)); len(bad) > 0 {
			wrong = append(wrong, bad...)
			continue
		}
		_ = json.Unmarshal(given[name], &members)
		wrong = append(wrong, checkMembers(inside+".", members, of.Elem())...)
	}
	return wrong
}

// checkValue checks that a value has a type. It returns at most one error.
func checkValue(field string, text json.RawMessage, of reflect.Type) fault.InvalidErrors {
	err := json.Unmarshal(text, reflect.New(of).Interface())
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.InvalidErrors{fault.Wrong(field, "%s is a JSON %s: it has to be %s", field, wrong.Value, jsonKind(wrong.Type))}
	}
	if err != nil {
		return fault.InvalidErrors{{Field: field, Value: Clip(string(text)), Want: jsonKind(of)}}
	}
	return nil
}

// member is a member that a type has in JSON.
type member struct {
	name string
	of   reflect.Type
}

// membersOf returns the members that a type has in JSON.
func membersOf(t reflect.Type) []member {
	var members []member
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			members = append(members, member{name, field.Type})
		}
	}
	return members
}

// jsonKind returns the name that JSON has for the values of a type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a JSON object"
	default:
		return "a whole number"
	}
}

// CheckMediaType returns an error unless the body has one of the types and is not
// compressed. It also refuses a request without a type: a page of another site could send
// one.
func CheckMediaType(r *http.Request, want ...string) error {
	given := r.Header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(given); err != nil || !slices.Contains(want, mediaType) {
		return BadRequest(http.StatusUnsupportedMediaType, "Content-Type", Printable(given), strings.Join(want, " or "))
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return BadRequest(http.StatusUnsupportedMediaType, "Content-Encoding", Printable(encoding), "identity: a body as it is")
	}
	return nil
}
