package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/records/accounts"
	logs "github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// happens appends events of an account to its log, and to that of all.
func (r *rig) happens(account string, from, to int) {
	r.Helper()
	var more []logs.Event
	for n := from; n <= to; n++ {
		more = append(more, logs.Event{
			ID: fmt.Sprintf("1-%d", n), Type: logs.Delivered, Account: account, User: "alice", MessageID: fmt.Sprintf("%s-%d", account, n), At: now(),
		})
	}
	for _, log := range []string{account, "*"} {
		_, err := r.options.Callbacks.Log().Append(r.Context(), log, int(account[0]), more)
		require.NoError(r, err)
	}
}

// sse is a stream of events.
type sse struct {
	*testing.T

	end   context.CancelFunc
	lines chan string
	id    string // of the last event
}

// follows opens a stream with a key.
func (r *rig) follows(t *testing.T, key, query, last string) *sse {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/v1/events"+query, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	answer, err := r.http.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	s := &sse{T: t, end: cancel, lines: make(chan string)}
	scanner := bufio.NewScanner(answer.Body) //nolint:scannererr // it ends with an error when the test closes the body
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.lines)
		for scanner.Scan() {
			select {
			case s.lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = answer.Body.Close()
	})
	require.Equal(t, "retry: 1000", s.line())
	s.id = strings.TrimPrefix(s.line(), "id: ")
	require.Empty(t, s.line())
	return s
}

func (s *sse) line() string {
	s.Helper()
	select {
	case line, more := <-s.lines:
		require.True(s, more, "the stream has ended")
		return line
	case <-time.After(30 * time.Second):
		s.Fatal("nothing comes")
		return ""
	}
}

// next returns the subject of the next event; "gap" for a gap.
func (s *sse) next() string {
	s.Helper()
	first := s.line()
	for strings.HasPrefix(first, ":") { // a comment, and the line after it
		require.Empty(s, s.line())
		first = s.line()
	}
	if first == "event: gap" {
		require.Contains(s, s.line(), `data: {"after":`)
		require.Empty(s, s.line())
		return "gap"
	}
	id, found := strings.CutPrefix(first, "id: ")
	require.True(s, found, first)
	require.Equal(s, "event: sendlimit.message.delivered", s.line())
	data := s.line()
	require.Contains(s, data, `data: {"specversion":"1.0","id":"`+id+`"`)
	require.Empty(s, s.line())
	s.id = id
	_, rest, _ := strings.Cut(data, `"subject":"`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}

func (s *sse) gets(account string, from, to int) {
	s.Helper()
	for n := from; n <= to; n++ {
		require.Equal(s, fmt.Sprintf("%s-%d", account, n), s.next())
	}
}

// A stream that breaks goes on where it was, and each account sees its own events only.
func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	acme, beta, admin := r.key("acme", accounts.ScopeRead), r.key("beta", accounts.ScopeRead), r.key("op", accounts.ScopeAdmin)
	r.happens("acme", 1, 3) // before anybody followed
	one := r.follows(t, acme, "", "")
	of, all := r.follows(t, beta, "", ""), r.follows(t, admin, "", "")
	begin := one.id
	r.happens("acme", 4, 250)
	one.gets("acme", 4, 150)
	one.end()
	r.happens("beta", 1, 2)
	of.gets("beta", 1, 2)
	all.gets("acme", 4, 250)
	all.gets("beta", 1, 2)
	r.follows(t, acme, "", one.id).gets("acme", 151, 250)
	r.follows(t, acme, "?after="+begin, "ignored").gets("acme", 4, 250)
	r.follows(t, acme, "?after=0", "").gets("acme", 1, 250)
	r.follows(t, admin, "?account=beta&after=0", "").gets("beta", 1, 2)

	require.Equal(t, http.StatusForbidden, r.with(beta, request{method: http.MethodGet, target: "/v1/events?account=acme"}).status)
	require.Equal(t, http.StatusForbidden, r.with(beta, request{method: http.MethodGet, target: "/v1/dead-events?account=acme"}).status)
	page := r.with(beta, request{method: http.MethodGet, target: "/v1/events?follow=false"})
	require.NotContains(t, string(page.body), "acme")
	require.Contains(t, string(page.body), "beta-2")
}

func TestAGapIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.key("acme", accounts.ScopeRead)
	r.happens("acme", 1, 5)
	entries, err := r.client.XRange(t.Context(), "sl:{e:acme}:events", "-", "+").Result()
	require.NoError(t, err)
	require.NoError(t, r.client.XTrimMaxLen(t.Context(), "sl:{e:acme}:events", 2).Err())
	late := r.follows(t, key, "", entries[0].ID)
	require.Equal(t, "gap", late.next())
	late.gets("acme", 4, 5)
	unknown := r.follows(t, key, "", "9999999999999-0")
	require.Equal(t, "gap", unknown.next())
	unknown.gets("acme", 4, 5)
	page := r.with(key, request{method: http.MethodGet, target: "/v1/events?follow=false&after=" + entries[1].ID})
	require.Contains(t, string(page.body), `"gap":true`)
	page = r.with(key, request{method: http.MethodGet, target: "/v1/events?follow=false&after=" + entries[3].ID})
	require.NotContains(t, string(page.body), "gap")
	require.Contains(t, string(page.body), "acme-5")
}

func TestStreamsOfEventsAreBounded(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	r := newRig(t, func(o *api.Options) {
		o.Limits.FollowersPerAccount, o.Limits.Followers, o.Stopping = 1, 2, stopping
	})
	acme := r.key("acme", accounts.ScopeRead)
	first := r.follows(t, acme, "", "")
	refused := r.with(acme, request{method: http.MethodGet, target: "/v1/events"})
	require.Equal(t, http.StatusTooManyRequests, refused.status)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, r.with(acme, request{method: http.MethodGet, target: "/v1/events?follow=false"}).status)
	r.follows(t, r.key("beta", accounts.ScopeRead), "", "")
	require.Equal(t, http.StatusServiceUnavailable, r.with(r.key("gamma", accounts.ScopeRead), request{method: http.MethodGet, target: "/v1/events"}).status)

	close(stopping)
	require.Eventually(t, func() bool {
		select {
		case _, more := <-first.lines:
			return !more
		default:
			return false
		}
	}, time.Minute, time.Millisecond, "a server that stops ends its streams")
}

// Alerts to contacts are as documented, and contain nothing else.
func TestNoticesAreAsDocumented(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	c := readContract(newRig(t))
	posted := notifiertest.Notices()
	for _, kind := range notifier.NoticeKinds() {
		posted[string(kind)], _ = email.Sample(kind, "")
	}
	for name, n := range posted {
		require.NoError(t, c.posts(t, "notice", n), name)
	}
	require.Error(t, c.posts(t, "notice", map[string]any{"id": "x", "kind": "y", "subject": "z", "stranger": "is not documented"}))
}

// posts returns the errors of a posted request by the schema of a webhook.
func (c *contract) posts(t *testing.T, webhook string, posted any) error {
	t.Helper()
	schema, err := c.compiler.Compile(contractURL + "#/webhooks/" + webhook + "/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	text, err := json.Marshal(posted)
	require.NoError(t, err)
	return c.valid(t, schema, string(text))
}

// Requests to push_url are as documented.
func TestDeliveriesAreAsDocumented(t *testing.T) {
	t.Parallel()
	c := readContract(newRig(t))
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	for _, n := range []notifier.Notification{
		{ID: "1", User: "alice", SendAt: at, Attempt: 1},
		{
			ID: "2", User: "bob", Category: "orders", Title: "t", Body: "b", Data: map[string]string{"a": "b"}, Campaign: "spring",
			Metadata: map[string]string{"c": "d"}, SendAt: at, RequestedAt: at.Add(-time.Hour), Attempt: 25,
		},
	} {
		require.NoError(t, c.posts(t, "delivery", notifier.NewPayload(n)))
	}
	require.Error(t, c.posts(t, "delivery", map[string]any{"id": "1", "user": "alice"}))
}
