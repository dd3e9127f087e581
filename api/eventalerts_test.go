package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
)

// A request that brings its account to a threshold of an event raises the alert, and the
// queue has it at once.
func TestRequestsAlertAsEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	events, err := counters.NewEvents(r.client, "")
	require.NoError(t, err)
	require.NoError(t, events.Set(t.Context(), counters.EventLimits{
		Name: "read", PerDay: 5, AlertAt: []int{80, 100}, AlertTo: "ops@example.com",
	}))
	_, err = r.accounts.Create(t.Context(), accounts.Account{Name: "own"})
	require.NoError(t, err)
	key := r.key("own", accounts.ScopeRead)
	read := request{method: http.MethodGet, target: "/v1/usage"}
	queued := func() int {
		return len(slices.DeleteFunc(r.store.Keys(), func(key string) bool { return !strings.HasPrefix(key, "asynq:{sl:push}:t:") }))
	}
	for n := range 8 {
		require.Equal(t, n >= 5, r.direct(key, read).status == http.StatusTooManyRequests)
		want := 0
		if n >= 3 {
			want = 1
		}
		if n >= 4 {
			want = 2
		}
		require.Equal(t, want, queued(), "%d: %v", n, r.store.Keys())
	}
	outbox, err := notices.New(r.client, notices.Options{})
	require.NoError(t, err)
	due, _, err := outbox.Due(t.Context(), now().AddDate(0, 0, 1), 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	for _, notice := range due {
		parsed, ok := notices.ParseID(notice.ID)
		require.True(t, ok)
		require.Equal(t, "read/own", parsed.Subject)
	}
}
