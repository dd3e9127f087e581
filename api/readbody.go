package api

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// readBody reads a request's body, an object with the members of T and no
// others.
func readBody[T any](s *server, r *http.Request) (T, error) {
	var value T
	text, err := s.readJSON(r)
	if err != nil {
		return value, err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return value, &sendlimit.InvalidError{Field: "body", Value: clip(string(text)), Want: "a JSON object"}
	}
	known := membersOf(reflect.TypeFor[T]())
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return value, &sendlimit.InvalidError{
				Field: valid(name), Value: clip(string(given[name])),
				Want: "no value: there is no such field; there are " + strings.Join(known, ", "),
			}
		}
	}
	if err := json.Unmarshal(text, &value); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return value, &sendlimit.InvalidError{Field: wrong.Field, Value: "a " + wrong.Value, Want: jsonKind(wrong.Type)}
		}
		return value, &sendlimit.InvalidError{Field: "body", Want: "a JSON object"}
	}
	return value, nil
}

// membersOf are the names that a type has in JSON.
func membersOf(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// jsonKind is what JSON calls the values of a type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	default:
		return "a whole number"
	}
}
