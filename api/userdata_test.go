package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	userPath   = "/v1/users/{user}"
	exportPath = userPath + "/export"
)

func userDataCases() []contractCase {
	return []contractCase{
		{"exported", http.MethodGet, exportPath, http.StatusOK, on(booked, request{method: http.MethodGet, target: "/v1/users/alice/export"})},
		{"none", http.MethodGet, exportPath, http.StatusNotFound, on(nothing, request{method: http.MethodGet, target: "/v1/users/alice/export"})},
		{"erased", http.MethodDelete, userPath, http.StatusOK, on(booked, request{method: http.MethodDelete, target: "/v1/users/alice?wait=0s"})},
		{"too long a wait", http.MethodDelete, userPath, http.StatusUnprocessableEntity, on(nothing, request{
			method: http.MethodDelete, target: "/v1/users/alice?wait=11m",
		})},
	}
}

// exported returns the lines of an export, as the caller with a key gets it.
func (r *rig) exported(key, user string) []message.UserEntry {
	r.Helper()
	got := r.with(key, request{method: http.MethodGet, target: "/v1/users/" + user + "/export"})
	require.Equal(r, http.StatusOK, got.status, string(got.body))
	lines := withoutProgress(got)
	var summary message.UserExport
	require.NoError(r, json.Unmarshal([]byte(lines[len(lines)-1]), &summary))
	require.Equal(r, message.UserExported, summary.Outcome)
	require.Equal(r, len(lines)-1, summary.Entries)
	entries := make([]message.UserEntry, len(lines)-1)
	for i := range entries {
		require.NoError(r, json.Unmarshal([]byte(lines[i]), &entries[i]))
		require.Equal(r, message.UserEntryFound, entries[i].Outcome)
	}
	return entries
}

// withoutProgress returns the lines of an answer that tell no progress, which those of a
// slow machine do.
func withoutProgress(got reply) []string {
	lines := strings.Split(strings.TrimSpace(string(got.body)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, `{"outcome":"progress"`) })
}

// An operator is shown contents only with the scope content, or of the own account's
// messages. Each export is logged.
func TestWhoSeesContentsInAnExport(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	sender := r.key("sender", accounts.ScopeSubmit)
	draft := `{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"secret","body":"secret","data":{"k":"secret"}}`
	require.Equal(t, http.StatusCreated, r.with(sender, request{method: http.MethodPost, target: messagesPath, body: draft}).status)
	for name, row := range map[string]struct {
		key   string
		sees  bool
		shown string
	}{
		"another account": {r.key("operator", accounts.ScopeAdmin), false, "contents=0"},
		"own account":     {r.key("sender", accounts.ScopeAdmin), true, "contents=1"},
		"scope content":   {r.key("auditor", accounts.ScopeAdmin, accounts.ScopeContent), true, "contents=1"},
	} {
		before := len(r.log.String())
		entries := r.exported(row.key, "alice")
		text, err := json.Marshal(entries)
		require.NoError(t, err)
		require.Equal(t, row.sees, strings.Contains(string(text), "secret"), name)
		lists := make([]string, 0, len(entries))
		for _, entry := range entries {
			lists = append(lists, entry.List)
		}
		require.Subset(t, lists, []string{"messages", "timeline", "watch_list"}, name)
		require.True(t, slices.IsSorted(lists))
		logged := r.log.String()[before:]
		require.Contains(t, logged, "data of a user exported", name)
		require.Contains(t, logged, row.shown, name)
		require.NotContains(t, logged, "secret")
	}
}

// The user's data is erased, and nobody else loses anything.
func TestAUserIsErasedOverTheAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	key := r.key("operator", accounts.ScopeAdmin, accounts.ScopeSubmit)
	submit := func(user string) reply {
		return r.with(key, request{
			method: http.MethodPost, target: messagesPath, body: `{"user":"` + user + `","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi"}`,
		})
	}
	require.Equal(t, http.StatusCreated, submit("alice").status)
	require.Equal(t, http.StatusCreated, submit("bob").status)
	erase := request{method: http.MethodDelete, target: "/v1/users/alice?wait=0s"}
	erased := func() (done message.UserErasure) {
		t.Helper()
		got := r.with(key, erase)
		require.Equal(t, http.StatusOK, got.status, string(got.body))
		lines := withoutProgress(got)
		require.Len(t, lines, 1)
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &done))
		return done
	}
	done := erased()
	require.Equal(t, []any{message.UserErased, "alice", 1, 1, 0}, []any{done.Outcome, done.User, done.Messages, done.Cancelled, done.Running})
	require.NotContains(t, r.store.Dump(), "alice")
	require.NotEmpty(t, r.exported(key, "bob"))

	p := r.problem(http.StatusNotFound, r.with(key, request{method: http.MethodGet, target: "/v1/users/alice/export"}))
	require.Equal(t, []any{fault.CodeNotFound, "alice"}, []any{p.Code, p.User})
	require.Equal(t, message.UserErasure{Outcome: message.UserErased, User: "alice"}, erased(), "erasing again is safe")
	require.Equal(t, http.StatusForbidden, r.with(r.key("reader", accounts.ScopeRead), erase).status)
	for _, wait := range []string{"11m", "-1s", "soon", ""} {
		p := r.problem(http.StatusUnprocessableEntity, r.with(key, request{method: http.MethodDelete, target: "/v1/users/bob?wait=" + wait}))
		require.Equal(t, "wait", p.Field, wait)
	}
}
