package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// stuck keeps the store from answering about one user.
type stuck struct {
	user  string
	until chan struct{}
}

// onCommand waits with commands about the user.
func (s stuck) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if strings.Contains(fmt.Sprint(cmd.Args()...), s.user) {
		select {
		case <-s.until:
		case <-ctx.Done():
		}
	}
	return next(ctx, cmd)
}

// attacker is an account that wants to keep others out.
type attacker struct {
	*rig

	key string
	ctx context.Context //nolint:fields // ends all that it holds
}

// asks sends a request and returns its status and Retry-After. It leaves an answer with 200 open.
func (a attacker) asks(method, target, contentType string, body io.Reader) (status int, retryAfter string) {
	a.Helper()
	sent, err := http.NewRequestWithContext(a.ctx, method, a.url+target, body)
	require.NoError(a, err)
	sent.Header.Set("Authorization", "Bearer "+a.key)
	if contentType != "" {
		sent.Header.Set("Content-Type", contentType)
	}
	got, err := a.http.Do(sent)
	require.NoError(a, err)
	a.Cleanup(func() { _ = got.Body.Close() })
	return got.StatusCode, got.Header.Get("Retry-After")
}

// slowly returns a body that begins and does not end before the attack.
func (a attacker) slowly(beginning string) io.Reader {
	body, rest := io.Pipe()
	context.AfterFunc(a.ctx, func() { _ = rest.CloseWithError(io.ErrUnexpectedEOF) })
	go func() { _, _ = io.WriteString(rest, beginning) }()
	return body
}

// holds opens as many streams as the account gets, and requires that it gets no more.
func (a attacker) holds(most int, method, target string) {
	a.Helper()
	for range most {
		contentType, lines := "", io.Reader(nil)
		if method == http.MethodPost {
			contentType, lines = "application/x-ndjson", a.slowly(junkLine)
		}
		status, _ := a.asks(method, target, contentType, lines)
		require.Equal(a, http.StatusOK, status, target)
	}
	status, retryAfter := a.asks(method, target, "application/x-ndjson", strings.NewReader(junkLine))
	require.Equal(a, http.StatusTooManyRequests, status, target)
	require.NotEmpty(a, retryAfter)
}

// An account does all it can to keep others out: batches, dry runs and streams of events
// that stay open, bodies that do not end, reads that take long, and wrong keys from the
// address that all share. The other accounts and the operator notice nothing.
func TestAnAccountThatAttacksOthers(t *testing.T) {
	t.Parallel()
	const inFlight = 16
	hung := stuck{user: "hung-user", until: make(chan struct{})}
	r := newRig(t, locked, func(o *api.Options) { o.Limits.InFlight = inFlight })
	r.client.AddHook(redistest.Commands(hung.onCommand))
	// Made before, and used for the first time in the middle of the attack.
	other, third := r.key("other", accounts.ScopeSubmit, accounts.ScopeRead), r.key("third", accounts.ScopeSubmit)
	operator := r.key("ops", accounts.ScopeAdmin)
	ctx, end := context.WithCancel(t.Context())
	a := attacker{rig: r, key: r.key("mallory", accounts.ScopeSubmit, accounts.ScopeRead), ctx: ctx}

	a.holds(2, http.MethodPost, checkBatchPath) // of 4 dry runs
	a.holds(api.DefaultStreams/4-2, http.MethodPost, batchPath)
	a.holds(api.DefaultFollowersPerAccount, http.MethodGet, "/v1/events")

	var attacks sync.WaitGroup
	statuses := make(chan int, 1000)
	begins := func(n int, ask func(context.Context) (*http.Request, error)) {
		for range n {
			attacks.Go(func() {
				sent, err := ask(ctx)
				if err != nil {
					statuses <- 0
					return
				}
				sent.Header.Set("Authorization", "Bearer "+a.key)
				got, err := r.http.Do(sent)
				if err != nil { // the attack ended
					return
				}
				_ = got.Body.Close()
				statuses <- got.StatusCode
			})
		}
	}
	begins(3*inFlight, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/v1/users/hung-user/usage", http.NoBody)
	})
	for range 3*inFlight - inFlight/4 { // all but its share
		require.Equal(t, http.StatusTooManyRequests, <-statuses)
	}
	begins(4*inFlight, func(ctx context.Context) (*http.Request, error) {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+messagesPath, a.slowly(`{"user":"u",`))
		if err == nil {
			q.Header.Set("Content-Type", "application/json")
		}
		return q, err
	})
	for i := range 3 * inFlight {
		got := r.with("sk_"+strconv.Itoa(i), stats()).status
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, got)
	}

	for i := range 20 {
		for _, key := range []string{other, third} {
			draft := fmt.Sprintf(`{"user":"user-%d-%s","send_at":"%s","title":"Hi"}`, i, key[3:11], on22("11:11:11"))
			got := r.with(key, request{method: http.MethodPost, target: messagesPath, body: draft})
			require.Equal(t, http.StatusCreated, got.status, string(got.body))
		}
		require.Equal(t, http.StatusOK, r.with(other, request{method: http.MethodGet, target: "/v1/users/alice/usage"}).status)
		require.Equal(t, http.StatusOK, r.with(operator, stats()).status)
	}
	for _, target := range []string{batchPath, checkBatchPath} {
		q := request{
			method: http.MethodPost, target: target, body: `{"user":"bob","send_at":"now","title":"Hi"}`,
			header: http.Header{"Content-Type": {"application/x-ndjson"}},
		}
		require.Equal(t, message.Accepted, into[message.Outcome](t, http.StatusOK, r.with(other, q)).Outcome)
		require.Equal(t, message.Accepted, into[message.Outcome](t, http.StatusOK, r.with(operator, q)).Outcome)
	}
	r.follows(t, other, "", "")

	end()
	close(hung.until)
	attacks.Wait()
}

// A wrong key costs the store little: those that come together share a call.
func TestWrongKeysShareCallsOfTheStore(t *testing.T) {
	t.Parallel()
	calls := &counting{name: "hmget"}
	r := newRig(t, locked)
	r.client.AddHook(redistest.Commands(calls.onCommand))
	for i := range 11 {
		r.with("sk_"+strconv.Itoa(i), stats())
	}
	before := r.store.CommandCount()
	calls.hold()
	const wrong = 200
	var strangers sync.WaitGroup
	guess := func(i int) string { return "sk_aaaaaaaa_" + fmt.Sprintf("%043d", i) } // in the form of real ones
	for i := range wrong {
		strangers.Go(func() { r.with(guess(i), stats()) })
	}
	time.AfterFunc(200*time.Millisecond, calls.release) // more or fewer have come by then
	strangers.Wait()
	require.Less(t, r.store.CommandCount()-before, wrong/2)
	require.Equal(t, fault.CodeRateLimited, r.problem(http.StatusTooManyRequests, r.with(guess(wrong), stats())).Code)

	// A key that may be short enough to guess is not even looked up.
	before = r.store.CommandCount()
	r.problem(http.StatusTooManyRequests, r.with("password", stats()))
	require.Equal(t, before, r.store.CommandCount())
}

// counting holds commands of a name back.
type counting struct {
	name string
	mu   sync.Mutex
	gate chan struct{}
}

func (c *counting) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = make(chan struct{})
}

func (c *counting) release() { close(c.gate) }

// onCommand waits until the gate is open.
func (c *counting) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil && cmd.Name() == c.name {
		<-gate
	}
	return next(ctx, cmd)
}
