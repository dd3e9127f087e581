package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		base string
		o    client.Options
		says string
	}{
		{"", client.Options{}, "base_url takes an http or https URL"},
		{"localhost:8080", client.Options{}, "base_url takes an http or https URL"},
		{"redis://127.0.0.1:6379", client.Options{}, "base_url takes an http or https URL"},
		{"http://", client.Options{}, "base_url takes an http or https URL"},
		{"http://api.test/?key=s3cret", client.Options{}, "base_url takes an http or https URL"},
		{"http://api.test/#", client.Options{}, "base_url takes an http or https URL"},
		{"http://s3cret:s3cret@api.test", client.Options{}, "base_url takes no user or password"},
		{"http://s3cret:s3 cret@api.test", client.Options{}, "base_url takes an http or https URL"},
		{"http://api.test", client.Options{Key: "s3cret\n"}, "key takes visible ASCII"},
		{"http://api.test", client.Options{Key: "s3cret s3cret"}, "key takes visible ASCII"},
		{"http://api.test", client.Options{Attempts: -1}, "attempts -1 is not allowed: use 1 to 100"},
		{"http://api.test", client.Options{Attempts: 101}, "attempts 101 is not allowed: use 1 to 100"},
		{"http://api.test", client.Options{Timeout: -time.Second}, "timeout -1s is not allowed"},
		{"http://api.test", client.Options{MaxRetryAfter: -time.Second}, "max_retry_after -1s is not allowed"},
	} {
		_, err := client.New(row.base, row.o)
		require.ErrorAs(t, err, new(*client.InvalidError), "%+v", row)
		require.ErrorContains(t, err, row.says)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestTheKeyIsSentAndNotShown(t *testing.T) {
	t.Parallel()
	const token = "s3cret-token"
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		reply(w, problemJSON, http.StatusUnauthorized, `{"outcome":"error","code":"unauthorized"}`)
	}))
	o := client.Options{Key: token, Attempts: 1}
	c, err := client.New(server.URL+"/", o)
	require.NoError(t, err)
	_, err = c.Submit(t.Context(), table())
	require.Error(t, err)
	server.Close()
	_, gone := c.Submit(t.Context(), table())
	require.Error(t, gone)
	require.Equal(t, []string{"Bearer " + token}, got)

	encoded, err2 := json.Marshal(map[string]client.Key{"token": token})
	require.NoError(t, err2)
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("options", "token", o.Key, "options", o, "client", c)
	for _, shown := range []string{
		err.Error(), gone.Error(), string(encoded), logged.String(), o.Key.String(),
		fmt.Sprintf("%v %+v %#v %s %q", o, o, o, o.Key, o.Key), fmt.Sprintf("%v %+v %#v", c, *c, c),
	} {
		require.NotContains(t, shown, token)
	}
	require.Empty(t, client.Key("").String())
}

// A redirect could take the key elsewhere.
func TestTheKeyDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	var others counted
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { others.next() }))
	t.Cleanup(other.Close)
	c := serve(t, client.Options{Key: "s3cret", HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}},
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		})
	_, err := c.Message(t.Context(), "alice", "a")
	require.ErrorContains(t, err, "HTTP status 308")
	require.Zero(t, others.Load())
}

func TestAMessageIsSpelledAsTheAPIReadsIt(t *testing.T) {
	t.Parallel()
	var paths, bodies []string
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		paths, bodies = append(paths, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")), append(bodies, string(body))
		accept(w)
	})
	berlin := time.FixedZone("", 3600)
	_, err := c.Submit(t.Context(), client.Message{
		ID: "a", User: "alice", SendAt: time.Date(2026, 11, 22, 12, 11, 11, 500_000, berlin), Category: "news", Title: "t", Body: "b",
		Data: map[string]string{"k": "v"}, Campaign: "spring", Metadata: map[string]string{"m": "n"}, ExpiresAt: at("2026-11-23T00:00:00Z"), OnConflict: client.OnConflictShift,
		ShiftUntil: at("2026-11-22T23:00:00Z"),
	})
	require.NoError(t, err)
	_, err = c.DryRun(t.Context(), client.Message{User: "alice", Now: true, Title: "t"})
	require.NoError(t, err)
	_, err = c.Submit(t.Context(), client.Message{ID: "a"})
	require.NoError(t, err, "what is missing is for the API to say")
	_, err = c.Move(t.Context(), "alice", "a", time.Time{})
	require.Error(t, err, "accepted is no answer to a move")
	require.Equal(t, []string{
		"POST /v1/messages application/json", "POST /v1/messages/dry-run application/json", "POST /v1/messages application/json",
		"PATCH /v1/users/alice/messages/a application/json",
	}, paths)
	require.JSONEq(t, `{"id":"a","user":"alice","send_at":"2026-11-22T11:11:11.0005Z","category":"news","title":"t","body":"b",
		"data":{"k":"v"},"campaign":"spring","metadata":{"m":"n"},"expires_at":"2026-11-23T00:00:00Z","on_conflict":"shift","shift_until":"2026-11-22T23:00:00Z"}`, bodies[0])
	require.JSONEq(t, `{"user":"alice","send_at":"now","title":"t"}`, bodies[1])
	require.JSONEq(t, `{"id":"a","user":""}`, bodies[2])
	require.JSONEq(t, `{"send_at":"now"}`, bodies[3])
}

// JSON would replace text that is not UTF-8, so the API would get another text.
func TestWhatIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) { accept(w) })
	for field, m := range map[string]client.Message{
		"user":  {User: "\xff", Now: true, Title: "t"},
		"title": {User: "alice", Now: true, Title: "t\xff"},
		"body":  {User: "alice", Now: true, Body: "\xc3"},
		"data":  {User: "alice", Now: true, Title: "t", Data: map[string]string{"\xff": "v"}},
	} {
		_, err := c.Submit(t.Context(), m)
		wrong, ok := errors.AsType[*client.InvalidError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, field, wrong.Field)
	}
}

func TestAnAnswerIsReadUpToABound(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusConflict} {
		c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			contentType := plainJSON
			if status != http.StatusOK {
				contentType = problemJSON
			}
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			for chunk := []byte(strings.Repeat(" ", 1<<20)); ; { // without an end
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		_, err := c.Message(t.Context(), "alice", "a")
		require.ErrorAs(t, err, new(*client.ResponseError))
		require.ErrorContains(t, err, "bytes")
	}
}

// Real connections: cut before the answer, in its midst, and answered with
// something else than HTTP.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		"", "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"outcome\":", "SSH-2.0-OpenSSH_9.2\r\n",
	} {
		var requests counted
		c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			if requests.next() < 3 {
				cutAfter(t, w, written)
				return
			}
			accept(w)
		})
		accepted, err := c.Submit(t.Context(), table())
		require.NoError(t, err, "%q", written)
		require.Equal(t, "a", accepted.ID)
		require.EqualValues(t, 3, requests.Load())
	}
}

func second[T any](_ T, err error) error { return err }

// Absent values stay unchanged or get the API's default, so they are not sent.
func TestWhatIsNotGivenIsNotSent(t *testing.T) {
	t.Parallel()
	none, yes := "", true
	for want, call := range map[string]func(context.Context, *client.Client) error{
		`{"disabled":true}`: func(ctx context.Context, c *client.Client) error {
			return second(c.ChangeAccount(ctx, "acme", client.AccountPatch{Disabled: &yes}))
		},
		`{"badge":null,"channels":null,"to":null}`: func(ctx context.Context, c *client.Client) error {
			_, err := c.Change(ctx, "alice", "a", client.MessageChange{ClearBadge: true, ClearChannels: true, ClearTo: true})
			require.ErrorAs(t, err, new(*client.ResponseError), "the answer is none")
			return nil
		},
		`{"contact":"","limits":[]}`: func(ctx context.Context, c *client.Client) error {
			return second(c.ChangeUserSettings(ctx, "alice", client.SettingsPatch{Contact: &none, Limits: []string{}}))
		},
		`{"scopes":["read"]}`: func(ctx context.Context, c *client.Client) error {
			return second(c.AddAccountKey(ctx, "acme", client.APIKeyDraft{Scopes: []string{"read"}}))
		},
		`{"name":"vip","rules":["1/day"]}`: func(ctx context.Context, c *client.Client) error {
			return second(c.ApplyPolicy(ctx, "vip", client.Policy{Name: "vip", Rules: []string{"1/day"}}))
		},
	} {
		e := &exchange{mediaType: plainJSON, status: http.StatusOK, body: "{}"}
		e.said(t, func(ctx context.Context, c *client.Client) []any {
			require.NoError(t, call(ctx, c))
			return nil
		})
		body, err := io.ReadAll(e.requests[0].Body)
		require.NoError(t, err)
		require.JSONEq(t, want, string(body))
		require.Empty(t, e.requests[0].URL.RawQuery)
	}
}

// A request that was not signed with the secret, unchanged and recently, is refused.
func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	signed := func(secret string, at time.Time, body string) http.Header {
		signer, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		signature, err := signer.Sign("msg_1", at, []byte(body))
		require.NoError(t, err)
		return http.Header{
			http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookID):        {"msg_1"},
			http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookTimestamp): {strconv.FormatInt(at.Unix(), 10)},
			http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookSignature): {signature},
		}
	}
	now := time.Now()
	require.NoError(t, client.VerifyWebhook(secret, signed(secret, now, `{"a":1}`), []byte(`{"a":1}`)))
	both := signed(secret, now, `{}`)
	both.Set("webhook-signature", signed(other, now, `{}`).Get("webhook-signature")+" "+both.Get("webhook-signature"))
	require.NoError(t, client.VerifyWebhook(secret, both, []byte(`{}`)), "while the secret is rotated")

	require.Error(t, client.VerifyWebhook(other, signed(secret, now, `{}`), []byte(`{}`)))
	require.Error(t, client.VerifyWebhook(secret, signed(secret, now, `{}`), []byte(`{ }`)))
	require.Error(t, client.VerifyWebhook(secret, signed(secret, now.Add(-6*time.Minute), `{}`), []byte(`{}`)))
	require.Error(t, client.VerifyWebhook(secret, signed(secret, now.Add(6*time.Minute), `{}`), []byte(`{}`)))
	require.Error(t, client.VerifyWebhook(secret, http.Header{}, []byte(`{}`)))
	require.ErrorContains(t, client.VerifyWebhook("whsec_#", signed(secret, now, `{}`), []byte(`{}`)), "the secret is not valid")
}
