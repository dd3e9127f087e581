package accounts_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// authenticates reports whether a key is accepted.
func (r *registry) authenticates(secret string) bool {
	r.Helper()
	identity, ok, err := r.Authenticate(r.Context(), secret)
	require.NoError(r, err)
	if !ok {
		require.Zero(r, identity)
	}
	return ok
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	require.NoError(t, r.SetTier(t.Context(), accounts.Tier{Name: "free", RequestsPerMinute: 60}))
	secret, key := r.create("acme")
	_, err := r.Set(t.Context(), "acme", accounts.Change{Tier: new("free")})
	require.NoError(t, err)

	identity, ok, err := r.Authenticate(t.Context(), secret)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "acme", identity.Account.Name)
	require.Equal(t, key, identity.Key)
	require.Equal(t, int64(60), identity.Tier.RequestsPerMinute)
	require.True(t, identity.May(accounts.ScopeRead))
	require.False(t, identity.May(accounts.ScopeAdmin))

	for _, wrong := range []string{
		"", "sk_", secret[:len(secret)-1], secret + "x", secret[:len(secret)-1] + "-", key.ID, r.hashes()[0],
		"sk_" + key.ID + "_" + "0123456789012345678901234567890123456789012", string(make([]byte, 1<<20)),
	} {
		require.False(t, r.authenticates(wrong))
	}

	_, err = r.Set(t.Context(), "acme", accounts.Change{Disabled: new(true)})
	require.NoError(t, err)
	require.False(t, r.authenticates(secret), "disabled")
	_, err = r.Set(t.Context(), "acme", accounts.Change{Disabled: new(false)})
	require.NoError(t, err)
	require.True(t, r.authenticates(secret))

	// The index entry of a hash leads to the account, but does not
	// authenticate.
	r.server.HSet("sl:{accounts}:keys", fmt.Sprintf("%x", sha256.Sum256([]byte("anything"))), "acme")
	require.False(t, r.authenticates("anything"))
}

func TestAdminMayEverythingButSeeContents(t *testing.T) {
	t.Parallel()
	i := accounts.Identity{Key: accounts.APIKey{Scopes: []accounts.Scope{accounts.ScopeAdmin}}}
	require.True(t, i.May(accounts.ScopeSubmit) && i.May(accounts.ScopeRead) && i.May(accounts.ScopeAdmin))
	require.False(t, i.May(accounts.ScopeContent))
	i.Key.Scopes = append(i.Key.Scopes, accounts.ScopeContent)
	require.True(t, i.May(accounts.ScopeContent) && i.May(accounts.ScopeAdmin))
	require.False(t, accounts.Identity{}.May(accounts.ScopeRead))
}

func TestAKeyExpires(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.create("acme")
	secret, key, err := r.AddKey(t.Context(), "acme", []accounts.Scope{accounts.ScopeAdmin}, r.now.Add(time.Hour), nil)
	require.NoError(t, err)
	require.Equal(t, r.now.Add(time.Hour), key.ExpiresAt)
	r.wait(time.Hour - time.Millisecond)
	require.True(t, r.authenticates(secret))
	r.wait(time.Millisecond)
	require.False(t, r.authenticates(secret))

	// The next change removes it.
	require.Len(t, r.hashes(), 2)
	_, err = r.Set(t.Context(), "acme", accounts.Change{})
	require.NoError(t, err)
	require.Len(t, r.hashes(), 1)
	require.Len(t, r.acme().Keys, 1)
}

func TestRotation(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	old, oldKey := r.create("acme")
	next, nextKey, err := r.RotateKey(t.Context(), "acme", "", time.Hour, nil)
	require.NoError(t, err)
	require.Equal(t, oldKey.Scopes, nextKey.Scopes)
	require.NotEqual(t, oldKey.ID, nextKey.ID)
	require.True(t, r.authenticates(old), "both, during the overlap")
	require.True(t, r.authenticates(next))

	_, _, err = r.RotateKey(t.Context(), "acme", "", time.Hour, nil)
	require.ErrorContains(t, err, "the id of a key: "+oldKey.ID+", "+nextKey.ID)
	// A second rotation of an old key does not extend its life.
	_, _, err = r.RotateKey(t.Context(), "acme", oldKey.ID, 24*time.Hour, nil)
	require.NoError(t, err)
	r.wait(time.Hour)
	require.False(t, r.authenticates(old))

	third, _, err := r.RotateKey(t.Context(), "acme", nextKey.ID, 0, nil)
	require.NoError(t, err)
	require.False(t, r.authenticates(next), "without an overlap at once")
	require.True(t, r.authenticates(third))

	_, _, err = r.RotateKey(t.Context(), "acme", "nokey", 0, nil)
	require.EqualError(t, err, `no key "nokey"`)
	for _, overlap := range []time.Duration{-1, accounts.MaxOverlap + 1} {
		_, _, err = r.RotateKey(t.Context(), "acme", "", overlap, nil)
		require.ErrorContains(t, err, "overlap")
	}
}

func TestParseOverlap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "90m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "366d": accounts.MaxOverlap,
	} {
		overlap, err := accounts.ParseOverlap(text)
		require.NoError(t, err)
		require.Equal(t, want, overlap)
	}
	for _, text := range []string{"", "1", "-1h", "367d", "soon", "99999999d"} {
		_, err := accounts.ParseOverlap(text)
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong, text)
		require.Equal(t, `overlap "`+text+`" is not allowed: use a length of time such as 1h or 7d, 0 for none, at most 366d`, wrong.Error())
	}
}

func TestKeysAreRemovedAndBounded(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	secret, key := r.create("acme")
	for range accounts.MaxKeys - 1 {
		_, _, err := r.AddKey(t.Context(), "acme", []accounts.Scope{accounts.ScopeRead}, time.Time{}, nil)
		require.NoError(t, err)
	}
	_, _, err := r.AddKey(t.Context(), "acme", []accounts.Scope{accounts.ScopeRead}, time.Time{}, nil)
	require.ErrorContains(t, err, "has 16 keys, which is the most")
	account, err := r.RemoveKey(t.Context(), "acme", key.ID, nil)
	require.NoError(t, err)
	require.Len(t, account.Keys, accounts.MaxKeys-1)
	require.False(t, r.authenticates(secret))
	require.Len(t, r.hashes(), accounts.MaxKeys-1)
	for _, none := range []string{key.ID, ""} {
		_, err = r.RemoveKey(t.Context(), "acme", none, nil)
		var missing *fault.NoSuchError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, fault.CodeNotFound, missing.Code())
	}
}

func TestHasUsableKey(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	usable := func() bool {
		usable, err := r.HasUsableKey(t.Context())
		require.NoError(t, err)
		return usable
	}
	require.False(t, usable())
	_, err := r.Create(t.Context(), accounts.Account{Name: "acme"})
	require.NoError(t, err)
	require.False(t, usable(), "no key")
	_, _, err = r.AddKey(t.Context(), "acme", []accounts.Scope{accounts.ScopeRead}, r.now.Add(time.Hour), nil)
	require.NoError(t, err)
	require.True(t, usable())
	_, err = r.Set(t.Context(), "acme", accounts.Change{Disabled: new(true)})
	require.NoError(t, err)
	require.False(t, usable())
	_, err = r.Set(t.Context(), "acme", accounts.Change{Disabled: new(false)})
	require.NoError(t, err)
	r.wait(time.Hour)
	require.False(t, usable(), "expired")
}

func TestKeysThatExist(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	secret, _ := r.create("acme")
	exist, err := r.KeysExist(t.Context(), accounts.HashKey("sk_wrong"), accounts.HashKey(secret), "")
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, false}, exist)
	none, err := r.KeysExist(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)

	require.True(t, accounts.MadeKey(secret))
	for _, other := range []string{"", "sk_", "password", secret[3:], secret + "x", secret[:len(secret)-1] + "-", "sk_" + secret} {
		require.False(t, accounts.MadeKey(other), other)
	}
}
