package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/dashboard"
)

// answeredBy has another API answer what pages ask for.
func (r *rig) answeredBy(api http.HandlerFunc) *browser {
	r.Helper()
	r.options.API = api
	r.pages = made(dashboard.New(r.options))(r)
	return r.browser()
}

// An answer of lines that breaks off is no whole one for the browser either.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	const line = `{"outcome":"progress"}` + "\n"
	b := keyless(t).answeredBy(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write([]byte(line))
		panic(http.ErrAbortHandler)
	})
	got := httptest.NewRecorder()
	asked := b.request(http.MethodPost, "/policy/refit?", form("name", "default", "then", "shift").Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.pages.ServeHTTP(got, asked) })
	require.Equal(t, http.StatusOK, got.Code)
	require.Equal(t, len(line), got.Body.Len())
	require.Equal(t, http.StatusServiceUnavailable, b.post("/campaign", "name", "spring", "do", "resume").status)
}

// The API has ended each request when that of the browser ends, although nobody waits for it.
func TestNoRequestOutlivesThatOfTheBrowser(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/user?name=alice", "/accounts"} {
		var ended atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		b := keyless(t).answeredBy(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
			time.Sleep(20 * time.Millisecond) // the page would be answered meanwhile
			ended.Store(true)
		})
		b.pages.ServeHTTP(httptest.NewRecorder(), b.request(http.MethodGet, target, "").WithContext(ctx))
		require.True(t, ended.Load(), target)
	}
}
