package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Faults collects the problems of a JSON object, so that one answer has them all: unknown members,
// members of another type, and the errors of other checks. The zero value has none.
type Faults struct {
	wrong  fault.InvalidErrors
	unread []string // fields that could not be read
}

// None reports whether there are no problems so far.
func (f *Faults) None() bool { return len(f.wrong) == 0 }

// clone returns a copy to add to; a nil f has no problems.
func (f *Faults) clone() Faults {
	if f == nil {
		return Faults{}
	}
	return Faults{wrong: slices.Clone(f.wrong), unread: slices.Clone(f.unread)}
}

// With returns the problems together with the error of a check of the rest: a *fault.InvalidError,
// fault.InvalidErrors or nil. It omits errors of the check about fields that could not be read.
// Without problems so far, it returns the error of the check unchanged.
func (f *Faults) With(err error) error {
	if f.None() {
		return err
	}
	all := slices.Clone(f.wrong)
	var more fault.InvalidErrors
	more.Add(err)
	for _, problem := range more {
		if !f.unreadable(problem.Field) {
			all = append(all, problem)
		}
	}
	return all.Err()
}

// unreadable reports whether a field, a part of it or its parent could not be read.
func (f *Faults) unreadable(field string) bool {
	return slices.ContainsFunc(f.unread, func(unread string) bool { return within(unread, field) || within(field, unread) })
}

// within reports whether a field is another one or a part of it.
func within(field, other string) bool { return field == other || strings.HasPrefix(field, other+".") }

// AddUnread adds the *fault.InvalidError or fault.InvalidErrors of a field that could not be read.
// It ignores nil.
func (f *Faults) AddUnread(err error) {
	var wrong fault.InvalidErrors
	wrong.Add(err)
	for _, problem := range wrong {
		f.addUnread(problem)
	}
}

func (f *Faults) addUnread(problem *fault.InvalidError) {
	f.wrong = append(f.wrong, problem)
	f.unread = append(f.unread, problem.Field)
}

// DecodeMembers decodes the members of a JSON object into a struct. Faults names each member that
// is unknown or has another type, in the order of names; the value has the others. It deletes these
// members from given. The members must be parts of a text that CheckJSON accepts.
//
// The error is about a text that the struct refuses although each member has the right type.
func DecodeMembers[T any](given map[string]json.RawMessage) (value T, faults Faults, err error) {
	faults.check("", given, reflect.TypeFor[T]())
	for _, field := range faults.unread {
		delete(given, field)
	}
	text, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if !faults.None() {
		err = nil // it is about a member that the faults name
	}
	return value, faults, err
}

// check notes each unknown member of an object, and each member of another type. inside is the name
// of the object and a dot, "" for the whole.
func (f *Faults) check(inside string, given map[string]json.RawMessage, of reflect.Type) {
	types := membersOf(of)
	known := make([]string, len(types))
	for i, member := range types {
		known[i] = member.name
	}
	thereAre := ": there are " + strings.Join(known, ", ") // once, since a caller may send thousands
	if len(known) > maxNames {
		thereAre = ""
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			says := thereAre
			if says == "" && len(f.wrong) < maxNames {
				says = ": " + ThereAre(fault.Clip(name), known)
			}
			f.wrong = append(f.wrong, unknownField(fault.Clip(inside+name), says))
			if inside == "" {
				delete(given, name)
			}
			continue
		}
		f.checkMember(inside+name, given[name], types[i].of)
	}
}

// unknownField returns the error for an unknown field. thereAre lists the known ones.
func unknownField(field, thereAre string) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Says: "unknown field " + strconv.Quote(field) + thereAre}
}

// checkMember checks the type of a value. In a map of texts or structs it checks each value.
func (f *Faults) checkMember(field string, text json.RawMessage, of reflect.Type) {
	if of == reflect.TypeFor[When]() || of == reflect.TypeFor[*When]() {
		f.checkWhen(field, text)
		return
	}
	if of == reflect.TypeFor[*Target]() {
		var given map[string]json.RawMessage
		if f.checkValue(field, text, reflect.TypeOf(given), of) {
			_ = json.Unmarshal(text, &given)
			f.check(field+".", given, of.Elem())
		}
		return
	}
	nullable := of.Kind() == reflect.Map && of.Elem().Kind() == reflect.Pointer
	if of.Kind() != reflect.Map || of.Elem().Kind() != reflect.Struct && of.Elem().Kind() != reflect.String && !nullable {
		f.checkValue(field, text, of, of)
		return
	}
	var given map[string]json.RawMessage
	if !f.checkValue(field, text, reflect.TypeOf(given), of) {
		return
	}
	_ = json.Unmarshal(text, &given) // can't fail after checkValue; null has no members
	for _, name := range slices.Sorted(maps.Keys(given)) {
		inside := fault.Clip(field + "." + name)
		if nullable {
			f.checkValue(inside, given[name], of.Elem(), of.Elem())
			continue
		}
		if of.Elem().Kind() == reflect.String {
			if string(given[name]) == "null" { // which would read as ""
				f.addUnread(fault.Wrong(inside, "%s is null: it has to be %s", printable(inside), jsonKind(of.Elem())))
				continue
			}
			f.checkValue(inside, given[name], of.Elem(), of.Elem())
			continue
		}
		var members map[string]json.RawMessage
		if f.checkValue(inside, given[name], reflect.TypeOf(members), of.Elem()) {
			_ = json.Unmarshal(given[name], &members)
			f.check(inside+".", members, of.Elem())
		}
	}
}

// checkWhen checks a time: a text, or an object with the members of a LocalTime.
func (f *Faults) checkWhen(field string, text json.RawMessage) {
	var local map[string]json.RawMessage
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		before := len(f.wrong)
		_ = json.Unmarshal(text, &local)
		f.check(field+".", local, reflect.TypeFor[LocalTime]())
		if len(f.wrong) > before {
			f.unread = append(f.unread, field)
		}
	default:
		f.checkValue(field, text, reflect.TypeFor[string](), reflect.TypeFor[When]())
	}
}

// checkValue checks the type of a value, and notes at most one error, which names the type want.
func (f *Faults) checkValue(field string, text json.RawMessage, of, want reflect.Type) bool {
	err := json.Unmarshal(text, reflect.New(of).Interface())
	if err == nil {
		return true
	}
	problem := &fault.InvalidError{Field: field, Value: fault.Clip(string(text)), Want: jsonKind(want)}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Type != of { // the type of an element of a list
			want = wrong.Type
		}
		problem = fault.Wrong(field, "%s is a JSON %s: it has to be %s", printable(field), wrong.Value, jsonKind(want))
	}
	f.addUnread(problem)
	return false
}

// member is a member of a type in JSON.
type member struct {
	name string
	of   reflect.Type
}

func membersOf(t reflect.Type) []member {
	var members []member
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			members = append(members, member{name, field.Type})
		}
	}
	return members
}

// jsonKind returns the name of a type for a caller.
func jsonKind(t reflect.Type) string {
	if t == reflect.TypeFor[When]() {
		return `a text, or an object such as {"local": "2040-06-22T11:11", "zone": "user"}`
	}
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
		if t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String {
			return "an object of texts"
		}
		return "a JSON object"
	default:
		return "a whole number"
	}
}
