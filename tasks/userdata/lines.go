package userdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Entries returns the entries of a document, each of one list, in the order of the lists'
// names; then those of its dry runs. What is no list is one entry, and a time has the
// member at.
func (d Document) Entries() ([]message.UserEntry, error) {
	runs := d.DryRuns
	d.DryRuns = nil
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("writing the data of a user: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("writing the data of a user: %w", err)
	}
	for _, head := range []string{"user", "exported_at", "dry_run"} {
		delete(members, head)
	}
	var all []message.UserEntry
	for _, name := range slices.Sorted(maps.Keys(members)) {
		entries, err := entriesOf(members[name])
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			all = append(all, message.UserEntry{Outcome: message.UserEntryFound, List: name, DryRun: d.DryRun, Entry: entry})
		}
	}
	for _, run := range runs {
		copies, err := run.Entries()
		if err != nil {
			return nil, err
		}
		all = append(all, copies...)
	}
	return all, nil
}

// entriesOf returns the entries of a member of a document.
func entriesOf(member json.RawMessage) (entries []map[string]any, err error) {
	switch member[0] {
	case '[':
		err = decode(member, &entries)
	case '{':
		entries = make([]map[string]any, 1)
		err = decode(member, &entries[0])
	default:
		entries = []map[string]any{{"at": member}}
	}
	return entries, err
}

// decode decodes a part of a document, with its numbers as they are.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("writing the data of a user: %w", err)
	}
	return nil
}

// Conceal removes the contents of messages that the caller may not see, and returns how
// many contents are left.
func (d *Document) Conceal(sees func(message.Status) bool) (shown int) {
	for i := range d.Messages {
		m := &d.Messages[i]
		switch {
		case !sees(m.Status):
			m.Title, m.Body, m.Data, m.Content = "", "", nil, message.Content{}
		case m.Title != "" || m.Body != "" || len(m.Data) > 0:
			shown++
		}
	}
	for i := range d.DryRuns {
		shown += d.DryRuns[i].Conceal(sees)
	}
	return shown
}
