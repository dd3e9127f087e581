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
// judge, if it is not nil, says what else is wrong with the value. It is also asked about
// the rest of a body of which some members are wrong, so that one answer tells everything.
func ReadBody[T any](l BodyLimits, r *http.Request, judge func(T) error) (T, error) {
	value, _, err := ReadMembers(l, r, func(value T, _ map[string]json.RawMessage) error {
		if judge == nil {
			return nil
		}
		return judge(value)
	})
	return value, err
}

// ReadMembers is ReadBody, and also returns the members that the body has. Those that are
// wrong are not among the members that judge gets.
func ReadMembers[T any](
	l BodyLimits, r *http.Request, judge func(value T, given map[string]json.RawMessage) error,
) (value T, given map[string]json.RawMessage, err error) {
	var none T
	text, err := l.ReadJSON(r)
	if err != nil {
		return none, nil, err
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return none, nil, fault.Wrong("body", "the body has to be a JSON object")
	}
	found := members{given: given}
	found.check("", given, reflect.TypeFor[T]())
	found.removeWrong()
	if text, err = json.Marshal(given); err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil && len(found.wrong) == 0 {
		return none, nil, fault.Wrong("body", "the body has to be a JSON object")
	}
	err = judge(value, given)
	if len(found.wrong) > 0 {
		return none, nil, found.with(err)
	}
	if err != nil {
		return none, nil, err
	}
	return value, given, nil
}

// members collects what is wrong with the members of a body.
type members struct {
	given  map[string]json.RawMessage
	wrong  fault.InvalidErrors
	unread []string // fields with another type than they have to have
}

// removeWrong removes the members of the body that are unknown or have another type. Of a
// member with members of its own it keeps those that can be read.
func (m *members) removeWrong() {
	for _, wrong := range m.wrong {
		delete(m.given, wrong.Field)
	}
}

// with returns what is wrong with the members, and what an error says besides. It leaves
// out what the error says about fields that could not be read.
func (m *members) with(err error) error {
	var more fault.InvalidErrors
	more.Add(err)
	for _, problem := range more {
		if !slices.ContainsFunc(m.unread, func(field string) bool { return within(field, problem.Field) || within(problem.Field, field) }) {
			m.wrong = append(m.wrong, problem)
		}
	}
	return m.wrong
}

// within reports whether a field is another one, or a part of it.
func within(field, other string) bool { return field == other || strings.HasPrefix(field, other+".") }

// check notes each member of an object that a struct does not have or that has another
// type. inside is the name of the object and a dot, "" for a body.
func (m *members) check(inside string, given map[string]json.RawMessage, of reflect.Type) {
	types := membersOf(of)
	known := make([]string, len(types))
	for i, member := range types {
		known[i] = member.name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			m.wrong = append(m.wrong, message.UnknownField(Printable(inside+name), known))
			if inside == "" {
				delete(given, name) // whose name may be another one in print
			}
			continue
		}
		m.checkMember(inside+name, given[name], types[i].of)
	}
}

// checkMember checks that a value has a type. In a map of structs it checks each struct.
func (m *members) checkMember(field string, text json.RawMessage, of reflect.Type) {
	var given map[string]json.RawMessage
	if of.Kind() != reflect.Map || of.Elem().Kind() != reflect.Struct {
		m.checkValue(field, text, of)
		return
	}
	if !m.checkValue(field, text, reflect.TypeOf(given)) {
		return
	}
	// It can't fail after checkValue. null has no members.
	_ = json.Unmarshal(text, &given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		inside := Printable(field + "." + name)
		var members map[string]json.RawMessage
		if !m.checkValue(inside, given[name], reflect.TypeOf(members)) {
			continue
		}
		_ = json.Unmarshal(given[name], &members)
		m.check(inside+".", members, of.Elem())
	}
}

// checkValue checks that a value has a type, and notes at most one error.
func (m *members) checkValue(field string, text json.RawMessage, of reflect.Type) bool {
	err := json.Unmarshal(text, reflect.New(of).Interface())
	if err == nil {
		return true
	}
	problem := &fault.InvalidError{Field: field, Value: Clip(string(text)), Want: jsonKind(of)}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		problem = fault.Wrong(field, "%s is a JSON %s: it has to be %s", field, wrong.Value, jsonKind(wrong.Type))
	}
	m.wrong = append(m.wrong, problem)
	m.unread = append(m.unread, field)
	return false
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
