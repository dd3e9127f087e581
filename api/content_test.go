package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// canaries are the content of a message, which no log may have.
func canaries() message.Content {
	return message.Content{
		Title: "canary-title", Body: "canary-body", Data: map[string]string{"k": "canary-data"},
		PushContent: message.PushContent{
			Image: "https://canary-image", ClickURL: "canary-click:a", Badge: new(1717), Sound: "canary-sound", Priority: message.PriorityHigh,
			CollapseKey: "canary-collapse", Channels: map[string]json.RawMessage{"fcm": []byte(`{"k":"canary-fcm"}`)},
			To: &message.Target{Channel: "log", App: "canary-app", Device: "canary-device"},
		},
	}
}

func canaryDraft(id, at string) string {
	return `{"user":"alice","id":"` + id + `","send_at":"` + at + `","title":"canary-title","body":"canary-body","data":{"k":"canary-data"},` +
		`"image":"https://canary-image","click_url":"canary-click:a","badge":1717,"sound":"canary-sound","priority":"high",` +
		`"collapse_key":"canary-collapse","channels":{"fcm":{"k":"canary-fcm"}},"to":{"channel":"log","app":"canary-app","device":"canary-device"},"metadata":{"k":"canary-metadata"}}`
}

// looks returns the log's lines about operators who saw contents, and requires that the log has no
// contents.
func (r *rig) looks() []string {
	r.Helper()
	require.NotContains(r, r.log.String(), "canary")
	return slices.DeleteFunc(strings.Split(r.log.String(), "\n"), func(line string) bool {
		return !strings.Contains(line, "content of a message shown")
	})
}

// readers are the callers of a test, by their access.
type readers struct {
	own, other      string // accounts
	admin, operator string // operators without and with the scope content
}

func (r *rig) readers() readers {
	r.Helper()
	both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	return readers{
		own: r.key("own", both...), other: r.key("other", both...),
		admin: r.key("boss", accounts.ScopeAdmin), operator: r.key("support", accounts.ScopeAdmin, accounts.ScopeContent),
	}
}

// content returns the content that a caller is shown of a message to alice.
func (r *rig) content(key, target string) message.Content {
	r.Helper()
	return into[message.Status](r, http.StatusOK, r.with(key, request{method: http.MethodGet, target: target})).Content
}

// The content of a message is shown to the account that sent it, and to operators with the
// scope content, of whom each look is logged.
func TestWhoSeesTheContentOfAMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	by := r.readers()
	submits := func(key, id, at string) {
		t.Helper()
		got := r.with(key, request{method: http.MethodPost, target: messagesPath, body: canaryDraft(id, at)})
		require.Equal(t, http.StatusCreated, got.status, string(got.body))
	}
	submits(by.own, "a", on22("11:11:11"))
	require.Equal(t, canaries(), r.content(by.own, aliceA))
	require.Equal(t, http.StatusNotFound, r.with(by.other, request{method: http.MethodGet, target: aliceA}).status)
	hidden := r.with(by.admin, request{method: http.MethodGet, target: aliceA})
	require.Equal(t, message.StatusScheduled, into[message.Status](t, http.StatusOK, hidden).Status, "the rest is shown")
	for _, member := range []string{"canary", `"title"`, `"body"`, `"data"`, `"metadata"`} {
		require.NotContains(t, string(hidden.body), member)
	}
	require.Empty(t, r.looks())
	require.Equal(t, canaries(), r.content(by.operator, aliceA))
	looks := r.looks()
	require.Len(t, looks, 1)
	for _, attribute := range []string{"level=INFO", " account=support ", " key=" + by.operator[3:11] + " ", " user=alice ", " id=a ", " owner=own ", " request_id="} {
		require.Contains(t, looks[0], attribute)
	}
	require.NotContains(t, looks[0], by.operator[11:])

	// An operator's own messages are no others'.
	for i, key := range []string{by.admin, by.operator} {
		id := []string{"boss", "support"}[i]
		submits(key, id, on22([]string{"12:00:00", "13:00:00"}[i]))
		require.Equal(t, canaries(), r.content(key, "/v1/users/alice/messages/"+id))
	}
	require.Len(t, r.looks(), 1)

	require.Equal(t, http.StatusOK, r.with(by.own, request{method: http.MethodDelete, target: aliceA}).status)
	submits(by.own, "sent", "now")
	r.settles("sent", messages.Settlement{Outcome: messages.Delivered})
	for id, want := range map[string]string{"a": message.StatusCancelled, "sent": message.StatusDelivered} {
		for _, key := range []string{by.own, by.admin, by.operator} {
			got := r.with(key, request{method: http.MethodGet, target: "/v1/users/alice/messages/" + id})
			status := into[message.Status](t, http.StatusOK, got)
			require.Equal(t, want, status.Status)
			require.Zero(t, status.Content, "it is erased")
			require.Equal(t, key != by.admin, status.Metadata["k"] == "canary-metadata", "it stays")
		}
	}
	require.Len(t, r.looks(), 3)
}

// A dead letter keeps its content, for callers who may see it.
func TestWhoSeesTheContentOfADeadLetter(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	by := r.readers()
	fails := func(key, id string) {
		t.Helper()
		got := r.with(key, request{method: http.MethodPost, target: messagesPath, body: canaryDraft(id, "now")})
		require.Equal(t, http.StatusCreated, got.status, string(got.body))
		r.settles(id, messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	}
	fails(by.own, "a")
	fails(by.admin, "b")
	require.Equal(t, canaries(), r.content(by.own, aliceA))
	require.Zero(t, r.content(by.admin, aliceA))
	require.Zero(t, r.content(by.admin, aliceADead))
	require.Empty(t, r.looks())
	require.Zero(t, r.content(by.operator, aliceADead))
	require.Len(t, r.looks(), 1, "its metadata is shown")
	refused := r.with(by.admin, request{method: http.MethodGet, target: aliceADead + "?content=true"})
	require.Equal(t, "this requires the scope content: use another key", r.problem(http.StatusForbidden, refused).Detail)
	require.Contains(t, refused.header.Get("WWW-Authenticate"), `error="insufficient_scope", scope="content"`)
	require.Equal(t, canaries(), r.content(by.admin, "/v1/users/alice/dead-letters/b?content=true"), "its own")
	require.Equal(t, canaries(), r.content(by.operator, aliceA))
	require.Equal(t, canaries(), r.content(by.operator, aliceADead+"?content=true"))
	require.Len(t, r.looks(), 3)
}

// A caller without a key sees everything. The log could name nobody.
func TestWithoutKeysContentIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.accepted(canaryDraft("a", "now"))
	require.Equal(t, canaries(), into[message.Status](t, http.StatusOK, r.get(aliceA)).Content)
	r.settles("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	require.Equal(t, canaries(), into[message.Status](t, http.StatusOK, r.get(aliceADead+"?content=true")).Content)
	require.Empty(t, r.looks())

	// A message without an account is not an operator's own.
	by := r.readers()
	require.Zero(t, r.content(by.admin, aliceA))
	require.Equal(t, canaries(), r.content(by.operator, aliceA))
	require.Len(t, r.looks(), 1)
}

// An operator who can't see contents can't get a key that can.
func TestWhoMayGiveTheScopeContent(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	by := r.readers()
	add := request{method: http.MethodPost, target: "/v1/accounts/support/keys", body: `{"scopes":["admin","content"]}`}
	for _, q := range []request{add, rotation("support", by.operator, `{}`)} {
		p := r.problem(http.StatusForbidden, r.with(by.admin, q))
		require.Equal(t, fault.CodeForbidden, p.Code)
		made := into[message.NewAPIKey](t, http.StatusCreated, r.with(by.operator, q))
		require.Contains(t, made.Scopes, message.ScopeContent)
	}
	into[message.NewAPIKey](t, http.StatusCreated, r.with(by.admin, rotation("own", by.own, `{}`)))
}

// recordReads records which reads of messages include contents.
type recordReads struct {
	mu   sync.Mutex
	asks []bool
}

func (h *recordReads) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	for _, cmd := range cmds {
		h.note(cmd)
	}
	return next(ctx, cmds)
}

func (h *recordReads) note(cmd redis.Cmder) {
	args := cmd.Args()
	if cmd.Name() != "hmget" || !slices.Contains(args, any(keyspace.RecordSendAt)) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asks = append(h.asks, slices.Contains(args, any(keyspace.RecordContent)))
}

// taken returns the reads since the last call.
func (h *recordReads) taken() []bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	asks := h.asks
	h.asks = nil
	return asks
}

// A look reads a record once, and the content only where it is shown.
func TestALookReadsContentOnlyToShowIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	by, reads := r.readers(), new(recordReads)
	r.client.AddHook(redistest.Calls(reads.onCall))
	for i, key := range []string{by.own, by.admin} {
		id := []string{"a", "boss"}[i]
		body := canaryDraft(id, on22([]string{"11:11:11", "12:00:00"}[i]))
		require.Equal(t, http.StatusCreated, r.with(key, request{method: http.MethodPost, target: messagesPath, body: body}).status)
	}
	for _, row := range []struct {
		key, id string
		asks    []bool
	}{
		{by.own, "a", []bool{true}},
		{by.operator, "a", []bool{true}},
		{by.admin, "a", []bool{false}},
		{by.admin, "none", []bool{false}},
		{by.admin, "boss", []bool{false, true}}, // whose it is, the first one says
	} {
		reads.taken()
		r.with(row.key, request{method: http.MethodGet, target: "/v1/users/alice/messages/" + row.id})
		require.Equal(t, row.asks, reads.taken(), row.id)
	}
	list := r.with(by.operator, request{method: http.MethodGet, target: "/v1/users/alice/messages"})
	require.Equal(t, http.StatusOK, list.status)
	require.NotContains(t, reads.taken(), true)
}
