package message

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Faults collects what is wrong with a JSON object, so that one answer tells everything:
// members that are unknown or have another type, and what other checks of the rest find.
// The zero value has no faults.
type Faults struct {
	wrong  fault.InvalidErrors
	unread []string // fields that could not be read
}

// None reports whether nothing is wrong so far.
func (f *Faults) None() bool { return len(f.wrong) == 0 }

// clone returns a copy to add more to; nil has no faults.
func (f *Faults) clone() Faults {
	if f == nil {
		return Faults{}
	}
	return Faults{wrong: slices.Clone(f.wrong), unread: slices.Clone(f.unread)}
}

// With returns the faults and what a check of the rest says besides: a
// *fault.InvalidError, fault.InvalidErrors, or nil for no faults. It leaves out what the
// check says about fields that could not be read. If nothing is wrong so far, it returns
// the error of the check as it is.
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

// unreadable reports whether a field, a part of it, or what it is a part of could not be
// read.
func (f *Faults) unreadable(field string) bool {
	return slices.ContainsFunc(f.unread, func(unread string) bool { return within(unread, field) || within(field, unread) })
}

// within reports whether a field is another one, or a part of it.
func within(field, other string) bool { return field == other || strings.HasPrefix(field, other+".") }

// AddUnread adds the *fault.InvalidError or fault.InvalidErrors about a field that could
// not be read; it ignores nil.
func (f *Faults) AddUnread(err error) {
	var wrong fault.InvalidErrors
	wrong.Add(err)
	for _, problem := range wrong {
		f.addUnread(problem)
	}
}

// addUnread adds what is wrong with a field that could not be read.
func (f *Faults) addUnread(problem *fault.InvalidError) {
	f.wrong = append(f.wrong, problem)
	f.unread = append(f.unread, problem.Field)
}

// DecodeMembers decodes the members of a JSON object into the fields of a struct. The
// faults name each member that is unknown or has another type, in the order of their
// names; the value has the others. It removes unknown members, and those that can't be
// read, from given. The members must be parts of a text that CheckJSON accepts.
//
// The error is about a text that the struct refuses although each member has its type.
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
		err = nil // about a part of a member, which the faults name
	}
	return value, faults, err
}

// check notes each member of an object that a struct does not have or that has another
// type. inside is the name of the object and a dot, "" for the whole.
func (f *Faults) check(inside string, given map[string]json.RawMessage, of reflect.Type) {
	types := membersOf(of)
	known := make([]string, len(types))
	for i, member := range types {
		known[i] = member.name
	}
	thereAre := ": there are " + strings.Join(known, ", ") // once, since a caller may send thousands
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			f.wrong = append(f.wrong, unknownField(fault.Clip(inside+name), thereAre))
			if inside == "" {
				delete(given, name)
			}
			continue
		}
		f.checkMember(inside+name, given[name], types[i].of)
	}
}

// unknownField returns the error for a field that does not exist. thereAre names those that
// do.
func unknownField(field, thereAre string) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Says: "unknown field " + strconv.Quote(field) + thereAre}
}

// checkMember checks that a value has a type. In a map of texts or of structs it checks
// each of them.
func (f *Faults) checkMember(field string, text json.RawMessage, of reflect.Type) {
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

// checkValue checks that a value has a type, and notes at most one error. want is the type
// that the error names.
func (f *Faults) checkValue(field string, text json.RawMessage, of, want reflect.Type) bool {
	err := json.Unmarshal(text, reflect.New(of).Interface())
	if err == nil {
		return true
	}
	problem := &fault.InvalidError{Field: field, Value: fault.Clip(string(text)), Want: jsonKind(want)}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Type != of { // of an element of a list
			want = wrong.Type
		}
		problem = fault.Wrong(field, "%s is a JSON %s: it has to be %s", printable(field), wrong.Value, jsonKind(want))
	}
	f.addUnread(problem)
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
		if t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String {
			return "an object of texts"
		}
		return "a JSON object"
	default:
		return "a whole number"
	}
}
