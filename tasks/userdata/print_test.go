package userdata_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// What is printed an entry at a time is what an encoder makes of the whole document.
func TestADocumentIsPrintedAsJSON(t *testing.T) {
	t.Parallel()
	whole := filled(t)
	whole.Settings = map[string]string{"contact": "<a&b>", "policy": "vip"}
	run := filled(t)
	whole.DryRuns = []userdata.Document{run, {}}
	for name, d := range map[string]userdata.Document{
		"whole": whole, "zero": {},
		"small": {User: "alice", Timeline: []message.Conflict{}, Messages: []message.Status{}},
	} {
		var want, got bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		require.NoError(t, encoder.Encode(d))
		require.NoError(t, d.Print(&got))
		require.Equal(t, want.String(), got.String(), name)
	}
	require.ErrorIs(t, whole.Print(closed{}), errClosed)
}

var errClosed = errors.New("closed")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }

// filled returns a document that has something in every list.
func filled(t *testing.T) userdata.Document {
	t.Helper()
	var d userdata.Document
	of := reflect.ValueOf(&d).Elem()
	for field, value := range of.Fields() {
		switch {
		case field.Name == "DryRuns":
		case value.Kind() == reflect.Slice:
			value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		case value.Kind() == reflect.Map:
			value.Set(reflect.ValueOf(map[string]string{"policy": "vip"}))
		case value.Kind() == reflect.String:
			value.SetString("text")
		default:
			value.Set(reflect.ValueOf(message.Time{Time: time.UnixMilli(1)}))
		}
		require.False(t, value.IsZero() && field.Name != "DryRuns", "%s: fill it here", field.Name)
	}
	return d
}

// The entries of an export are those of the document that the command prints, list by list.
func TestEntriesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	d := filled(t)
	d.DryRun = ""
	run := filled(t)
	d.DryRuns = []userdata.Document{run}

	var want []message.UserEntry
	for _, of := range []userdata.Document{d, run} {
		text, err := json.Marshal(of)
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(text, &members))
		for _, name := range slices.Sorted(maps.Keys(members)) {
			var entries []any
			switch value := members[name].(type) {
			case []any:
				entries = value
			case map[string]any:
				entries = []any{value}
			default:
				entries = []any{map[string]any{"at": value}}
			}
			for _, entry := range entries {
				if !slices.Contains([]string{"user", "exported_at", "dry_run", "dry_runs"}, name) {
					object, _ := entry.(map[string]any)
					want = append(want, message.UserEntry{Outcome: message.UserEntryFound, List: name, DryRun: of.DryRun, Entry: object})
				}
			}
		}
	}
	var got []message.UserEntry
	for entry, err := range d.Entries() {
		require.NoError(t, err)
		got = append(got, entry)
	}
	wanted, err := json.Marshal(want)
	require.NoError(t, err)
	listed, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(wanted), string(listed))
	for _, err := range d.Entries() {
		require.NoError(t, err)
		break // may be left early
	}
}
