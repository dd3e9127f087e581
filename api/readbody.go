package api

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// readBody reads a request's body, an object with the members of T and no
// others.
func readBody[T any](s *server, r *http.Request) (T, error) {
	value, _, err := readMembers[T](s, r)
	return value, err
}

// readMembers is readBody, and returns which members the body has.
func readMembers[T any](s *server, r *http.Request) (value T, given map[string]json.RawMessage, err error) {
	text, err := s.readJSON(r)
	if err != nil {
		return value, nil, err
	}
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return value, nil, &fault.InvalidError{Field: "body", Value: clip(string(text)), Want: "a JSON object"}
	}
	if wrong := checkMembers("", given, reflect.TypeFor[T]()); len(wrong) > 0 {
		return value, nil, wrong
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, nil, &fault.InvalidError{Field: "body", Want: "a JSON object"}
	}
	return value, given, nil
}

// checkMembers says which members of an object are none of a struct, or of another
// type; inside is the name of the object with a dot behind it, "" for a body.
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
			wrong = append(wrong, &fault.InvalidError{
				Field: valid(inside + name), Value: clip(string(given[name])),
				Want: "no value: there is no such field; there are " + strings.Join(known, ", "),
			})
			continue
		}
		wrong = append(wrong, checkMember(inside+name, given[name], types[i].of)...)
	}
	return wrong
}

// checkMember says whether a value is of a type: as a whole, but for objects whose
// members have names of the caller's, which are looked at one by one.
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
	// Which was just done; null is no members.
	_ = json.Unmarshal(text, &given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		inside := valid(field + "." + name)
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

// checkValue says whether a value is of a type; what it returns is one or none.
func checkValue(field string, text json.RawMessage, of reflect.Type) fault.InvalidErrors {
	err := json.Unmarshal(text, reflect.New(of).Interface())
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.InvalidErrors{{Field: field, Value: "a " + wrong.Value, Want: jsonKind(wrong.Type)}}
	}
	if err != nil {
		return fault.InvalidErrors{{Field: field, Value: clip(string(text)), Want: jsonKind(of)}}
	}
	return nil
}

// member is one that a type has in JSON.
type member struct {
	name string
	of   reflect.Type
}

// membersOf are those that a type has in JSON.
func membersOf(t reflect.Type) []member {
	var members []member
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			members = append(members, member{name, field.Type})
		}
	}
	return members
}

// jsonKind is what JSON calls the values of a type.
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
