package dashboard_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// endless is a body without an end, of bytes that no packing shrinks.
type endless struct {
	*rand.ChaCha8

	read atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	e.read.Add(int64(len(p)))
	return e.ChaCha8.Read(p)
}

// sendBody sends a request with a body to where the former went.
func (q asked) sendBody(b *browser, body io.Reader) *httptest.ResponseRecorder {
	b.Helper()
	_, path, _ := strings.Cut(q.route, " ")
	sent := b.request(http.MethodPost, path, "", script(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	sent.Body, sent.ContentLength = io.NopCloser(body), -1
	got := httptest.NewRecorder()
	b.pages.ServeHTTP(got, sent)
	return got
}

// Nothing is read of a body that its sender may not send, and of others no more than the route
// needs.
func TestWhatIsReadOfABody(t *testing.T) {
	t.Parallel()
	r := locked(t)
	stranger, reader, operator := r.browser(), r.loggedIn(r.key("own", accounts.ScopeRead)), r.operator()
	for _, q := range requests() {
		if !strings.HasPrefix(q.route, "POST ") {
			continue
		}
		login, logout := q.route == "POST /login", q.route == "POST /logout"
		for b, status := range map[*browser]int{stranger: http.StatusUnauthorized, reader: forbidden} {
			if body := (&endless{ChaCha8: rand.NewChaCha8([32]byte{})}); !login && !logout {
				require.Equal(t, status, q.sendBody(b, body).Code, q.route)
				require.Zero(t, body.read.Load(), q.route)
			}
		}
		most := map[string]int64{
			"POST /login": 4 << 10, "POST /dead-letters": 1 << 20, "POST /messages": 1 << 20, "POST /policy/check": 192 << 10, "POST /policy/apply": 192 << 10, "POST /policy/dry-run": 192 << 10,
		}[q.route]
		switch {
		case strings.HasPrefix(q.route, "POST /plan/"):
			most = 9 << 20
		case most == 0:
			most = 64 << 10
		}
		body := &endless{ChaCha8: rand.NewChaCha8([32]byte{})}
		got := q.sendBody(operator, body)
		require.Equal(t, http.StatusRequestEntityTooLarge, got.Code, "%s: %s", q.route, got.Body)
		require.LessOrEqual(t, body.read.Load(), most+most/2+512, q.route)
	}
	require.Empty(t, r.entries())
}

// An account whose bodies do not end keeps neither others nor operators from theirs, and nobody
// keeps anybody from a login.
func TestBodiesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	r := locked(t)
	greedy, other, operator := r.sender("greedy"), r.sender("other"), r.operator()
	var stalled sync.WaitGroup
	for path, most := range map[string]int{"/plan/read": 2, "/user/submit": 32} {
		ends := make([]*io.PipeWriter, most)
		for i := range ends {
			body, end := io.Pipe()
			ends[i] = end
			stalled.Go(func() { asked{route: "POST " + path}.sendBody(greedy, body) })
			_, err := end.Write([]byte("x")) // it is being read
			require.NoError(t, err)
		}
		got := asked{route: "POST " + path}.sendBody(greedy, strings.NewReader("x"))
		require.Equal(t, http.StatusTooManyRequests, got.Code, got.Body)
		require.Contains(t, got.Body.String(), "The account has", path)
		require.NotEmpty(t, got.Header().Get("Retry-After"))
		for _, b := range []*browser{other, operator} {
			got := asked{route: "POST " + path}.sendBody(b, strings.NewReader(""))
			require.Less(t, got.Code, 429, got.Body)
		}
		r.sender("greedy")
		for _, end := range ends {
			_ = end.Close()
		}
		stalled.Wait()
		got = asked{route: "POST " + path}.sendBody(greedy, strings.NewReader(""))
		require.Less(t, got.Code, 429, got.Body)
	}
}

// stalled is an answer that its reader does not take.
type stalled struct {
	*httptest.ResponseRecorder

	begun chan struct{}
	until chan struct{}
}

func (s stalled) Write(p []byte) (int, error) {
	select {
	case s.begun <- struct{}{}:
	case <-s.until:
	}
	<-s.until
	return len(p), nil
}

// Pages that an account does not read keep nobody else from theirs.
func TestPagesThatAreNotRead(t *testing.T) {
	t.Parallel()
	r := locked(t)
	greedy, other, operator := r.sender("greedy"), r.sender("other"), r.operator()
	page := func(b *browser) *http.Request { return b.request(http.MethodGet, "/plan", "") }
	begun, until := make(chan struct{}), make(chan struct{})
	var reading sync.WaitGroup
	for range 32 {
		asked := page(greedy)
		reading.Go(func() { greedy.pages.ServeHTTP(stalled{httptest.NewRecorder(), begun, until}, asked) })
		<-begun
	}
	for b, status := range map[*browser]int{greedy: http.StatusTooManyRequests, other: http.StatusOK, operator: http.StatusOK} {
		got := httptest.NewRecorder()
		b.pages.ServeHTTP(got, page(b))
		require.Equal(t, status, got.Code, got.Body)
	}
	close(until)
	reading.Wait()
}

// However many downloads of the audit log an account asks for together, one reads at a time.
func TestTheAuditLogIsReadInTurn(t *testing.T) {
	t.Parallel()
	r := locked(t)
	own, at := r.sender("own"), &redistest.AtOnce{Name: "zrevrangebylex"}
	r.client.AddHook(at)
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			got := httptest.NewRecorder()
			own.pages.ServeHTTP(got, own.request(http.MethodGet, "/audit?format=csv", ""))
			if got.Code != http.StatusOK {
				t.Errorf("%d: %s", got.Code, got.Body)
			}
		})
	}
	reading.Wait()
	require.Equal(t, 1, at.Most())
}

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
