package accounts_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// callback returns the callback of acme; the zero one if there is none.
func (r *registry) callback() accounts.Callback {
	r.Helper()
	c, ok, err := r.Callback(r.Context(), "acme")
	require.NoError(r, err)
	require.Equal(r, ok, c.URL != "")
	with, err := r.WithCallback(r.Context())
	require.NoError(r, err)
	require.Equal(r, ok, len(with) == 1)
	return c
}

func TestACallbackIsSetAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	_, _, err := r.SetEvents(t.Context(), "acme", "https://example.com/a", "")
	require.ErrorAs(t, err, new(*fault.NoSuchError))
	r.create("acme")
	require.Zero(t, r.callback())

	account, made, err := r.SetEvents(t.Context(), "acme", "https://example.com/a", "")
	require.NoError(t, err)
	require.Equal(t, "https://example.com/a", account.EventsURL)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, made)
	require.Equal(t, accounts.Callback{URL: "https://example.com/a", Secrets: []string{made}}, r.callback())

	_, again, err := r.SetEvents(t.Context(), "acme", "https://example.com/b", "")
	require.NoError(t, err)
	require.Empty(t, again, "the secret stays, and is not told again")
	require.Equal(t, accounts.Callback{URL: "https://example.com/b", Secrets: []string{made}}, r.callback())
	_, err = r.Set(t.Context(), "acme", accounts.Change{ReportAt: new("08:00")})
	require.NoError(t, err)
	require.Equal(t, []string{made}, r.callback().Secrets, "another change leaves it")

	own := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("own", 8)))
	_, again, err = r.SetEvents(t.Context(), "acme", "https://example.com/b", own)
	require.NoError(t, err)
	require.Empty(t, again)
	require.Equal(t, []string{own}, r.callback().Secrets)

	account, err = r.RemoveEvents(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, account.EventsURL)
	require.Zero(t, r.callback())
	_, err = r.RemoveEvents(t.Context(), "acme")
	require.NoError(t, err, "twice is no fault")
	_, err = r.RotateEventsSecret(t.Context(), "acme", 0)
	require.ErrorAs(t, err, new(*fault.NoSuchError))
}

func TestASecretIsRotatedWithAnOverlap(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.create("acme")
	_, first, err := r.SetEvents(t.Context(), "acme", "https://example.com/a", "")
	require.NoError(t, err)
	second, err := r.RotateEventsSecret(t.Context(), "acme", time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{second, first}, r.callback().Secrets)
	r.wait(time.Hour - time.Millisecond)
	require.Equal(t, []string{second, first}, r.callback().Secrets)
	r.wait(time.Millisecond)
	require.Equal(t, []string{second}, r.callback().Secrets)
	_, err = r.Set(t.Context(), "acme", accounts.Change{ReportAt: new("08:00")})
	require.NoError(t, err)
	require.NotContains(t, r.server.HGet("sl:{accounts}:accounts", "acme"), first, "what has ended is not kept")

	third, err := r.RotateEventsSecret(t.Context(), "acme", 0)
	require.NoError(t, err)
	require.Equal(t, []string{third}, r.callback().Secrets)
	_, err = r.RotateEventsSecret(t.Context(), "acme", -time.Second)
	require.ErrorAs(t, err, new(*fault.InvalidError))
}

func TestCallbacksThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.create("acme")
	for _, row := range []struct{ url, secret string }{
		{"", ""},
		{"example.com", ""},
		{"https://robot:hunter2@example.com", ""},
		{"https://example.com/" + strings.Repeat("a", accounts.MaxEventsURL), ""},
		{"https://example.com/", "hunter2"},
		{"https://example.com/", "whsec_aHVudGVyMg=="},
	} {
		_, _, err := r.SetEvents(t.Context(), "acme", row.url, row.secret)
		require.ErrorAs(t, err, new(*fault.InvalidError), row.url)
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.Zero(t, r.callback())
}
