package client_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestAccountsAndTheirKeys(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	tier := client.Tier{Name: "free", TierLimits: client.TierLimits{MessagesPerDay: 500, AlertAt: []int{}}}
	set, err := a.SetTier(ctx, tier)
	require.NoError(t, err)
	require.Equal(t, tier, set)
	got, err := a.Tier(ctx, "free")
	require.NoError(t, err)
	require.Equal(t, tier, got)
	require.Equal(t, []client.Tier{tier}, listed(t, a.Tiers(ctx, client.PageRequest{})))

	made, err := a.CreateAccount(ctx, client.NewAccount{Name: "acme", Tier: "free", ReportAt: "08:00"})
	require.NoError(t, err)
	require.Equal(t, client.Account{
		Name: "acme", Tier: "free", TimeZone: "UTC", ReportAt: "08:00", CreatedAt: wire(a.now), Keys: []client.APIKey{},
	}, made)
	key, known, err := a.AddAPIKey(ctx, "acme", a.now.Add(time.Hour), client.ScopeRead)
	require.NoError(t, err)
	require.Equal(t, string(key)[3:11], known.ID)
	require.Equal(t, client.APIKey{
		ID: known.ID, Scopes: []client.Scope{client.ScopeRead}, CreatedAt: wire(a.now), ExpiresAt: wire(a.now.Add(time.Hour)),
	}, known)

	theirs, err := client.New(a.server.URL, client.Options{Key: key, Attempts: 1})
	require.NoError(t, err)
	defer theirs.CloseIdleConnections()
	_, err = theirs.NextFree(ctx, client.NextFreeRequest{User: "alice"})
	require.NoError(t, err)
	for _, err = range theirs.Accounts(ctx, client.PageRequest{}) {
		require.Error(t, err)
	}
	var refused *client.ResponseError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, client.CodeForbidden, refused.Code)

	yes := true
	changed, err := a.ChangeAccount(ctx, "acme", client.AccountChange{Disabled: &yes})
	require.NoError(t, err)
	require.True(t, changed.Disabled)
	require.Equal(t, []client.Account{changed}, listed(t, a.Accounts(ctx, client.PageRequest{})))
	left, err := a.RemoveAPIKey(ctx, "acme", known.ID)
	require.NoError(t, err)
	require.Empty(t, left.Keys)

	for _, err := range []error{
		second(a.Account(ctx, "nobody")), second(a.RemoveAPIKey(ctx, "acme", known.ID)), second(a.Tier(ctx, "gold")),
		second(a.ChangeAccount(ctx, "nobody", client.AccountChange{})), second(a.RemoveTier(ctx, "gold")),
	} {
		require.ErrorIs(t, err, client.ErrNotFound)
	}
	_, err = a.CreateAccount(ctx, client.NewAccount{Name: "acme"})
	var taken *client.Refusal
	require.ErrorAs(t, err, &taken)
	require.Equal(t, client.CodeExists, taken.Code)
	isInvalid(t, second(a.Account(ctx, "")), "account")
	isInvalid(t, second(a.RemoveTier(ctx, "")), "tier")
}

func TestRotateAPIKey(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	_, err := a.CreateAccount(ctx, client.NewAccount{Name: "acme"})
	require.NoError(t, err)
	_, old, err := a.AddAPIKey(ctx, "acme", time.Time{}, client.ScopeRead)
	require.NoError(t, err)
	key, next, err := a.RotateAPIKey(ctx, "acme", old.ID, 90*time.Minute)
	require.NoError(t, err)
	require.Equal(t, string(key)[3:11], next.ID)
	require.Equal(t, client.APIKey{ID: next.ID, Scopes: old.Scopes, CreatedAt: wire(a.now)}, next)
	shown, err := a.Account(ctx, "acme")
	require.NoError(t, err)
	old.ExpiresAt = wire(a.now.Add(90 * time.Minute))
	require.Equal(t, []client.APIKey{old, next}, shown.Keys)

	_, _, err = a.RotateAPIKey(ctx, "acme", old.ID, 0)
	require.NoError(t, err)
	_, _, err = a.RotateAPIKey(ctx, "acme", old.ID, 0)
	require.ErrorIs(t, err, client.ErrNotFound, "it has ended")
	_, _, err = a.RotateAPIKey(ctx, "acme", next.ID, -time.Second)
	var wrong *client.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "overlap", wrong.Field)
}

func second[T any](_ T, err error) error { return err }

// What would be done twice is sent once, and a quota is not waited for.
func TestWhatIsNotRepeated(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	answer := func(status int, body string) *client.Client {
		return serve(t, client.Options{Attempts: 3}, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			reply(w, problemJSON, status, body)
		})
	}
	_, _, err := answer(http.StatusServiceUnavailable, `{"outcome":"error","code":"unavailable"}`).AddAPIKey(t.Context(), "acme", time.Time{})
	require.Error(t, err)
	require.Equal(t, int64(1), asked.Load())
	_, err = answer(http.StatusTooManyRequests, `{"outcome":"refused","code":"quota_exceeded","user":"alice"}`).Submit(t.Context(), table())
	var refused *client.Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, client.CodeQuotaExceeded, refused.Code)
	require.Equal(t, int64(2), asked.Load())
}
