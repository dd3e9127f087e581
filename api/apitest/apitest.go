package apitest

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Open opens the parts of an API on a store, and stores the default policy. The returned options
// have no Now. Call end when no request is being answered.
func Open(
	ctx context.Context, client redis.UniversalClient, submits submit.Options,
) (b *backend.Backend, o api.Options, end func() error, err error) {
	if b, err = backend.Open(client, backend.Options{}); err != nil {
		return nil, o, nil, err
	}
	if o, end, err = api.PartsOf(b, api.PartOptions{
		Submits: submits,
		Refits:  refit.Options{Rest: func(context.Context, time.Duration) error { return nil }}, // nobody else uses the store
	}); err != nil {
		return nil, o, nil, err
	}
	if _, err = o.Policies.Seed(ctx, policy.Default()); err != nil {
		return nil, o, nil, errors.Join(err, end())
	}
	o.Stats = func(context.Context) (message.Stats, error) { return message.Stats{}, nil }
	o.Version = "1.2.3"
	return b, o, end, nil
}

// WithoutLog returns a dump of a store without the audit log and the counts of requests.
func WithoutLog(dump string) string {
	var kept strings.Builder
	skips := false
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "- ") {
			skips = strings.Contains(line, "{audit}") || strings.Contains(line, ":counters:")
		}
		if !skips {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Serve serves an API on a store until the test ends. It returns its address, and a key of the
// account ops, which has all scopes.
func Serve(t *testing.T, client redis.UniversalClient, now func() time.Time) (address, key string) {
	t.Helper()
	b, o, end, err := Open(t.Context(), client, submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	t.Cleanup(b.StartFlushing())
	o.Now, o.RequireKeys = now, true
	_, err = o.Accounts.Create(t.Context(), accounts.Account{Name: "ops"})
	require.NoError(t, err)
	key, _, err = o.Accounts.AddKey(t.Context(), "ops", []accounts.Scope{
		accounts.ScopeSubmit, accounts.ScopeRead, accounts.ScopeAdmin, accounts.ScopeContent,
	}, time.Time{}, nil)
	require.NoError(t, err)
	handler, err := api.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL, key
}
