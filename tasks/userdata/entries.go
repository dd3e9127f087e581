package userdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// Entries yields the entries of a document's lists, in the order of the lists'
// names; then those of its dry runs. A member that is not a list is one entry, and a time has the
// member at. Only one entry at a time is encoded. It ends after an error.
func (d Document) Entries() iter.Seq2[message.UserEntry, error] {
	return func(yield func(message.UserEntry, error) bool) { d.each(yield) }
}

// each is Entries, and reports whether to go on.
func (d Document) each(yield func(message.UserEntry, error) bool) bool {
	for _, l := range d.lists() {
		for _, value := range l.values {
			entry, err := entryOf(value)
			if !yield(message.UserEntry{Outcome: message.UserEntryFound, List: l.name, DryRun: d.DryRun, Entry: entry}, err) || err != nil {
				return false
			}
		}
	}
	for _, run := range d.DryRuns {
		if !run.each(yield) {
			return false
		}
	}
	return true
}

// list is a member of a document with its values.
type list struct {
	name   string
	values []reflect.Value
}

// lists returns the members of a document that have values, by their names, without the user and the
// dry runs.
func (d Document) lists() []list {
	var all []list
	of := reflect.ValueOf(d)
	for field, value := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case slices.Contains([]string{"user", "dry_run", "dry_runs"}, name), value.IsZero(), value.Kind() != reflect.Struct && value.Len() == 0:
		case value.Kind() == reflect.Slice:
			l := list{name: name}
			for i := range value.Len() {
				l.values = append(l.values, value.Index(i))
			}
			all = append(all, l)
		default:
			all = append(all, list{name, []reflect.Value{value}})
		}
	}
	slices.SortFunc(all, func(a, b list) int { return strings.Compare(a.name, b.name) })
	return all
}

// entryOf returns a value of a document as an entry.
func entryOf(value reflect.Value) (entry map[string]any, err error) {
	text, err := json.Marshal(value.Interface())
	if err != nil {
		return nil, fmt.Errorf("writing the data of a user: %w", err)
	}
	if text[0] != '{' {
		return map[string]any{"at": json.RawMessage(text)}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // numbers stay as they are
	if err := decoder.Decode(&entry); err != nil {
		return nil, fmt.Errorf("writing the data of a user: %w", err)
	}
	return entry, nil
}
