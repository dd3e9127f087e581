package client_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// realAPI is the API on the embedded store. Its clock is at 11:00 on 2026-11-22.
type realAPI struct {
	*client.Client

	server *httptest.Server
}

// startRealAPI starts one. It calls closing with whatever is to be done in the end.
func startRealAPI(ctx context.Context, closing func(func())) (*realAPI, error) {
	store := miniredis.NewMiniRedis()
	if err := store.Start(); err != nil {
		return nil, err
	}
	closing(store.Close)
	store.SetTime(at("2026-11-22T11:00:00Z"))
	connections := redis.NewClient(redistest.PipedOptions(store))
	closing(func() { _ = connections.Close() })
	_, o, end, err := apitest.Open(ctx, connections, submit.Options{})
	if err != nil {
		return nil, err
	}
	closing(func() { _ = end() })
	o.Now = time.Now
	handler, err := api.New(o)
	if err != nil {
		return nil, err
	}
	r := &realAPI{server: httptest.NewServer(handler)}
	closing(r.server.Close)
	if r.Client, err = client.New(r.server.URL, client.Options{Attempts: 1}); err != nil {
		return nil, err
	}
	closing(r.CloseIdleConnections)
	return r, nil
}

func realAPIOf(t *testing.T) *realAPI {
	t.Helper()
	r, err := startRealAPI(t.Context(), t.Cleanup)
	require.NoError(t, err)
	return r
}

func TestAMessagesLife(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	m := client.Message{User: "alice", SendAt: at("2026-11-22T11:11:11Z"), Title: "Your table is ready"}

	dry, err := c.DryRun(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, m.SendAt, dry.SendAt.Time)
	accepted, err := c.Submit(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, client.Outcome{Outcome: "accepted", ID: accepted.ID, User: "alice", SendAt: wire(m.SendAt)}, accepted)
	require.NotEmpty(t, accepted.ID)

	m.ID = accepted.ID
	again, err := c.Submit(t.Context(), m)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	m.Title = "Another"
	_, err = c.Submit(t.Context(), m)
	reused, ok := errors.AsType[*client.Refusal](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.CodeIDReused, reused.Code)

	m.ID = "beside"
	m.SendAt = m.SendAt.Add(time.Second)
	_, err = c.Submit(t.Context(), m)
	refusal, ok := errors.AsType[*client.Refusal](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.CodeSendLimit, refusal.Code)
	require.Equal(t, at("2026-11-22T11:12:11Z"), refusal.NextFreeAt.Time)
	require.Equal(t, at("2026-11-22T11:10:11Z"), refusal.PreviousFreeAt.Time)
	require.Equal(t, []client.Violation{{
		Rule: "1/minute", Limit: 1, Kind: "sliding", WindowSeconds: 60, ConflictsTotal: 1,
		Conflicts: []client.Conflict{{ID: accepted.ID, SendAt: wire(at("2026-11-22T11:11:11Z"))}},
	}}, refusal.Violations)
	require.NotEmpty(t, refusal.RequestID)
	require.NotErrorIs(t, err, client.ErrNotFound)
	m.OnConflict = client.OnConflictShift
	shifted, err := c.Submit(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, client.Outcome{
		Outcome: "accepted", ID: "beside", User: "alice", SendAt: refusal.NextFreeAt, RequestedAt: wire(m.SendAt), Shifted: true,
	}, shifted)

	moved, err := c.Move(t.Context(), "alice", "beside", at("2026-11-22T12:00:00Z"))
	require.NoError(t, err)
	require.Equal(t, client.Outcome{
		Outcome: "moved", ID: "beside", User: "alice", SendAt: wire(at("2026-11-22T12:00:00Z")), MovedFrom: refusal.NextFreeAt, RequestedAt: moved.RequestedAt,
	}, moved)
	status, err := c.Message(t.Context(), "alice", "beside")
	require.NoError(t, err)
	require.Equal(t, client.StatusMoved, status.Status)
	require.Equal(t, refusal.NextFreeAt, status.MovedFrom)

	cancelled, err := c.CancelMessage(t.Context(), "alice", "beside")
	require.NoError(t, err)
	require.Equal(t, client.Outcome{Outcome: "cancelled", ID: "beside", User: "alice"}, cancelled)
	cancelled, err = c.CancelMessage(t.Context(), "alice", "beside")
	require.NoError(t, err)
	require.True(t, cancelled.Replayed)
	_, err = c.Message(t.Context(), "alice", "none")
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = c.Move(t.Context(), "alice", "none", m.SendAt)
	require.ErrorIs(t, err, client.ErrNotFound)

	sent := client.Message{ID: "sent", User: "alice", SendAt: at("2026-11-22T09:11:11Z")} // by another system
	for _, again := range []bool{false, true} {
		recorded := listed(t, c.RecordSent(t.Context(), slices.Values([]client.Message{sent})))
		require.Equal(t, []client.Result{{Accepted: client.Outcome{Outcome: "recorded", Line: 1, ID: "sent", User: "alice", SendAt: wire(sent.SendAt), Replayed: again}}}, recorded)
	}
}

func TestUsersOfAnyNameOnTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	for _, user := range []string{
		"/", "//", "a/b", "100%", "%2F", "a?b", "a#b", "a b", "a+b", "ünïcode", ".", "..", "../..", "a:b@c", "a&b=c;d", `a\b`, "https://example.com/?q=1#f", "/a", "a/",
	} {
		m := client.Message{ID: "a", User: user, SendAt: at("2026-11-22T11:11:11Z"), Title: "t"}
		_, err := c.Submit(t.Context(), m)
		require.NoError(t, err, "%q", user)
		status, err := c.Message(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
		require.Equal(t, user, status.User)
		for listed, err := range c.ListMessages(t.Context(), user, client.ListMessagesQuery{}) {
			require.NoError(t, err, "%q", user)
			require.Equal(t, user, listed.User)
		}
		_, err = c.Usage(t.Context(), user, client.UsageQuery{})
		require.NoError(t, err, "%q", user)
		_, err = c.CancelMessage(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
	}
}

// A new key is shown with its properties, and belongs to its account.
func TestKeysOfTheRealAPI(t *testing.T) {
	t.Parallel()
	a, ctx := realAPIOf(t), t.Context()
	_, err := a.CreateAccount(ctx, client.AccountDraft{Name: "acme"})
	require.NoError(t, err)
	expires := at("2026-11-22T12:00:00Z")
	old, err := a.AddAccountKey(ctx, "acme", client.APIKeyDraft{Scopes: []string{"read"}, ExpiresAt: expires.Format(time.RFC3339)})
	require.NoError(t, err)
	require.Equal(t, client.APIKey{ID: old.Secret[3:11], Scopes: []client.Scope{client.ScopeRead}, CreatedAt: old.CreatedAt, ExpiresAt: wire(expires)}, old.APIKey)
	next, err := a.RotateAccountKey(ctx, "acme", old.ID, client.APIKeyRotation{Overlap: "0s"})
	require.NoError(t, err)
	require.Equal(t, next.Secret[3:11], next.ID)
	theirs, err := client.New(a.server.URL, client.Options{Key: client.Key(next.Secret), Attempts: 1})
	require.NoError(t, err)
	defer theirs.CloseIdleConnections()
	usage, err := theirs.OwnUsage(ctx)
	require.NoError(t, err)
	require.Equal(t, "acme", usage.Account)
	left, err := a.RemoveAccountKey(ctx, "acme", next.ID)
	require.NoError(t, err)
	require.Empty(t, left.Keys)
}
