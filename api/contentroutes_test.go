package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	logs "github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// showing lists the operations whose answers have title, body, data or metadata of messages.
// TestEveryOperationHasAScope requires that every operation is tried.
func showing() map[string]bool {
	return map[string]bool{
		"GET " + foundPath:              true,
		"GET " + messagesPath:           true,
		"GET " + messagePath:            true,
		"GET " + contentPath:            true,
		"GET /v1/users/{user}/messages": true,
		"GET /v1/dead-letters":          true,
		"GET " + deadLetterPath:         true,
		"GET " + exportPath:             true,
		"GET /v1/events":                true,
		"GET " + deadEventsPath:         true,
	}
}

// withCanaries is an API whose store has canaries in a message of acme to alice, a dead letter
// or a pending one, and in events and a dead event of it.
func withCanaries(t *testing.T, dead bool) (r *rig, by readers) {
	t.Helper()
	r = newRig(t, locked)
	by = r.readers()
	by.own = r.key("acme", accounts.ScopeSubmit, accounts.ScopeRead)
	policies := settings.NewPolicies(r.client, keyspace.KeysUnder(""))
	vip, err := policy.Parse("vip", "", "1/minute")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), vip))
	at := on22("11:11:11")
	if dead {
		at = "now"
	}
	body := strings.Replace(canaryDraft("a", at), "{", `{"campaign":"spring",`, 1)
	require.Equal(t, http.StatusCreated, r.with(by.own, request{method: http.MethodPost, target: messagesPath, body: body}).status)
	if dead {
		r.settles("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	}
	vipAlice := request{method: http.MethodPatch, target: aliceSettings, body: `{"policy":"vip"}`}
	require.Equal(t, http.StatusOK, r.with(by.admin, vipAlice).status)
	_, err = r.options.Callbacks.Set(t.Context(), "acme", "https://example.com/events", "")
	require.NoError(t, err)
	r.happensToCanary()
	state, err := logs.NewCallbacks(r.client, logs.Options{})
	require.NoError(t, err)
	turn, _, _, err := state.Take(t.Context(), "acme", "a", time.Minute)
	require.NoError(t, err)
	latest, err := r.options.Callbacks.Log().Latest(t.Context(), "acme")
	require.NoError(t, err)
	_, _, err = state.Settle(t.Context(), turn, logs.Outcome{Reason: "gone", Last: latest, Count: 1})
	require.NoError(t, err)
	return r, by
}

// happensToCanary appends an event of the canaries' message to the logs.
func (r *rig) happensToCanary() {
	r.Helper()
	event := logs.Event{
		ID: "1-1", Type: logs.Failed, Account: "acme", User: "alice", MessageID: "a", At: now(), Metadata: []byte(`{"k":"canary-metadata"}`),
	}
	for _, log := range []string{"acme", "*"} {
		_, err := r.options.Callbacks.Log().Append(r.Context(), log, 1, []logs.Event{event})
		require.NoError(r, err)
	}
}

// Whatever the operation, operators are shown contents and metadata of other accounts'
// messages only with the scope content, and each look is logged. Their own account is shown
// them, and no other. No log has contents or keys.
func TestWhatOperationsShow(t *testing.T) {
	t.Parallel()
	pending, pendingBy := withCanaries(t, false)
	dead, deadBy := withCanaries(t, true)
	for _, o := range operations() {
		t.Run(o.method+" "+o.path, func(t *testing.T) {
			var shows bool
			if o.method == http.MethodGet { // which changes nothing
				shows = o.shows(t, pending, pendingBy)
				shows = o.shows(t, dead, deadBy) || shows
			} else {
				t.Parallel() // some wait
				r, by := withCanaries(t, false)
				shows = o.shows(t, r, by)
			}
			require.Equal(t, showing()[o.method+" "+o.path], shows, "whether it is in the list of what shows contents")
		})
	}
}

// shows requires that an operation shows canaries only to callers who may see them, and returns
// whether it shows any.
func (o operation) shows(t *testing.T, r *rig, by readers) bool {
	t.Helper()
	const export = "data of a user exported"
	looks := func(key string) (canary, logged bool) {
		before := len(r.looks()) + strings.Count(r.log.String(), export)
		q := o.request()
		if !strings.Contains(q.target, "?") && slices.Contains(o.parameters, "account") {
			q.target += "?account=acme"
		}
		canary = strings.Contains(string(r.with(key, q).body), "canary")
		return canary, len(r.looks())+strings.Count(r.log.String(), export) > before
	}
	for _, key := range []string{by.other, by.admin} {
		canary, logged := looks(key)
		require.False(t, canary)
		require.True(t, !logged || o.path == exportPath)
	}
	canary, logged := looks(by.operator)
	require.Equal(t, canary || o.path == exportPath, logged, "each look is logged")
	if canary && scopeOf(o) == accounts.ScopeRead {
		canary, logged := looks(by.own)
		require.True(t, canary, "its own")
		require.False(t, logged)
	}
	for _, key := range []string{by.own, by.other, by.admin, by.operator} {
		require.NotContains(t, r.log.String(), key[11:])
	}
	return canary
}

// The same holds for a stream of events.
func TestWhatAStreamShows(t *testing.T) {
	t.Parallel()
	r, by := withCanaries(t, false)
	for _, row := range []struct {
		key          string
		sees, logged bool
	}{{by.own, true, false}, {by.admin, false, false}, {by.operator, true, true}} {
		before := len(r.looks())
		stream := r.follows(t, row.key, "?after=0", "")
		require.Contains(t, stream.line(), "id: ")
		require.Equal(t, "event: sendlimit.message.failed", stream.line())
		data := stream.line()
		require.Contains(t, data, `"subject":"a"`)
		require.Equal(t, row.sees, strings.Contains(data, "canary-metadata"))
		stream.end()
		require.Equal(t, row.logged, len(r.looks()) > before)
	}
}

// An operator without the scope content can't change the content of another account's message,
// neither blindly nor to read it in the answer. It may move the message.
func TestWhoChangesWhatAMessageSays(t *testing.T) {
	t.Parallel()
	r, by := withCanaries(t, false)
	patch := func(key, id, body string) reply {
		return r.with(key, request{method: http.MethodPatch, target: "/v1/users/alice/messages/" + id, body: body})
	}
	for _, body := range []string{
		`{"title":"New"}`, `{"title":null}`, `{"body":"New"}`, `{"data":null}`, `{"data":{"k":"canary-data"}}`, `{"sound":"canary-sound"}`, `{"to":null}`, `{"metadata":{"k":null}}`,
		`{"title":"New","send_at":"` + on22("12:12:12") + `"}`,
	} {
		refused := r.problem(http.StatusForbidden, patch(by.admin, "a", body))
		require.Equal(t, "this requires the scope content: use another key", refused.Detail)
		require.Equal(t, http.StatusNotFound, patch(by.admin, "none", body).status, body)
	}
	status := into[message.Status](t, http.StatusOK, r.with(by.own, request{method: http.MethodGet, target: aliceA}))
	require.Equal(t, canaries(), status.Content)
	require.Equal(t, on22("11:11:11.000"), status.SendAt.Format(message.TimeLayout))
	require.Equal(t, http.StatusUnprocessableEntity, r.with(by.admin, request{
		method: http.MethodPatch, target: "/v1/users/alice/messages/" + strings.Repeat("x", 129), body: `{"title":"New"}`,
	}).status)

	for _, body := range []string{`{"send_at":"` + on22("12:12:12") + `"}`, `{"expires_at":"` + on22("18:00:00") + `"}`} {
		moved := patch(by.admin, "a", body)
		require.Equal(t, http.StatusOK, moved.status, string(moved.body))
		require.NotContains(t, string(moved.body), "canary")
	}
	require.Equal(t, http.StatusOK, patch(by.own, "a", `{"title":"By its account"}`).status)
	require.Equal(t, http.StatusOK, patch(by.operator, "a", `{"title":"By support"}`).status)

	own, err := json.Marshal(map[string]string{"user": "alice", "id": "boss", "send_at": on22("14:00:00"), "title": "Hi"})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, r.with(by.admin, request{method: http.MethodPost, target: messagesPath, body: string(own)}).status)
	require.Equal(t, http.StatusOK, patch(by.admin, "boss", `{"title":"Its own"}`).status)
}
