package callbacks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a store with the account acme, and a receiver that notes what it accepts.
type rig struct {
	testing.TB

	client              *redis.Client
	accounts            *accounts.Accounts
	registry            *callbacks.Registry
	log                 *events.Log
	written             *bytes.Buffer // of the logger
	secret              string
	partition, happened int

	mu       sync.Mutex
	status   func() int // of the next answer
	received []message.Event
	requests int
	largest  int
	unsigned int
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{TB: tb, written: new(bytes.Buffer), status: func() int { return http.StatusOK }}
	_, r.client = redistest.Embedded(tb)
	var err error
	r.accounts = accounts.New(r.client, keyspace.KeysUnder(""))
	_, err = r.accounts.Create(tb.Context(), accounts.Account{Name: "acme"})
	require.NoError(tb, err)
	r.registry, err = callbacks.NewRegistry(r.client, events.Options{}, contact.Callbacks{AllowInternal: true})
	require.NoError(tb, err)
	r.log, err = events.NewLog(r.client, events.Options{})
	require.NoError(tb, err)
	receiver := httptest.NewServer(http.HandlerFunc(r.receive))
	tb.Cleanup(receiver.Close)
	status, err := r.registry.Set(tb.Context(), "acme", receiver.URL+"/events", "")
	require.NoError(tb, err)
	require.NotEmpty(tb, status.Secret)
	r.secret = status.Secret
	return r
}

// receive notes the events of a request whose signature is right.
func (r *rig) receive(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(request.Body)
	verifier, wrong := standardwebhooks.NewWebhook(r.secret)
	var batch []message.Event
	if err != nil || wrong != nil || verifier.Verify(body, request.Header) != nil || json.Unmarshal(body, &batch) != nil {
		r.unsigned++
		return
	}
	r.requests++
	r.largest = max(r.largest, len(batch))
	status := r.status()
	if status < 300 || status == http.StatusBadGateway { // which a proxy says after the receiver had it
		r.received = append(r.received, batch...)
	}
	w.WriteHeader(status)
}

// happen appends events to acme's log, of several messages in turns.
func (r *rig) happen(n int) {
	r.Helper()
	var more []events.Event
	for range n {
		r.happened++
		more = append(more, events.Event{
			ID: "1-" + strconv.Itoa(r.happened), Type: events.Moved, Account: "acme", User: "alice",
			MessageID: fmt.Sprintf("m-%d", r.happened%7), At: time.UnixMilli(1_795_000_000_000 + int64(r.happened)),
			Attempt: r.happened, Metadata: []byte(`{"order":"17"}`),
		})
	}
	_, err := r.log.Append(r.Context(), "acme", r.partition, more)
	require.NoError(r, err)
}

// sends starts a sender until the returned function is called.
func (r *rig) sends(change ...func(*callbacks.Sender)) (stop func()) {
	r.Helper()
	posts, err := webhook.NewCallback(webhook.CallbackConfig{AllowInternal: true, Now: time.Now})
	require.NoError(r, err)
	s := &callbacks.Sender{
		Accounts: r.accounts, Log: r.log, Poster: posts, Clock: newClock(), GiveUp: time.Hour, Rate: 1000,
		Retries: retry.Policy{Min: time.Millisecond, Max: 2 * time.Millisecond, Attempts: 1},
		Timeout: 5 * time.Second, Margin: time.Second, Logger: slog.New(slog.DiscardHandler),
	}
	s.Listeners = events.NewListeners(r.client, keyspace.KeysUnder(""))
	s.Callbacks, err = events.NewCallbacks(r.client, events.Options{})
	require.NoError(r, err)
	for _, f := range change {
		f(s)
	}
	stopping, ended := make(chan struct{}), make(chan struct{})
	wait := s.Start(r.Context(), stopping, ended)
	return sync.OnceFunc(func() {
		close(stopping)
		close(ended)
		wait()
		require.NoError(r, posts.Close())
	})
}

// got returns the numbers of the events that the receiver has, first copies only, in the order
// in which they came.
func (r *rig) got() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var numbers []int
	seen := make(map[string]bool)
	for _, e := range r.received {
		if !seen[e.ID] {
			seen[e.ID] = true
			numbers = append(numbers, e.Data.Attempt)
		}
	}
	return numbers
}

// waitFor waits until the receiver has all events up to a number, and checks their order.
func (r *rig) waitFor(n int) {
	r.Helper()
	require.Eventually(r, func() bool { return len(r.got()) >= n }, time.Minute, 10*time.Millisecond)
	want := make([]int, n)
	for i := range want {
		want[i] = i + 1
	}
	require.Equal(r, want, r.got(), "each once, in order")
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Zero(r, r.unsigned)
}

func (r *rig) answers(status func() int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *rig) progress() message.Callback {
	r.Helper()
	status, err := r.registry.Status(r.Context(), "acme")
	require.NoError(r, err)
	return status
}

func TestEventsArePosted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	defer r.sends()()
	r.happen(250)
	r.waitFor(250)
	require.Equal(t, 100, r.largest)
	first := r.received[0]
	at := time.UnixMilli(1_795_000_000_001).UTC()
	require.Equal(t, message.Event{
		SpecVersion: "1.0", ID: first.ID, Source: "/v1/accounts/acme/events", Type: "sendlimit.message.moved", Subject: "m-1",
		Time: message.Time{Time: at}, DataContentType: "application/json",
		Data: message.EventData{
			Account: "acme", User: "alice", ID: "m-1", Attempt: 1, Metadata: map[string]string{"order": "17"},
		},
	}, first)
	require.Eventually(t, func() bool { return r.progress().Waiting == 0 }, 10*time.Second, 10*time.Millisecond)
	status := r.progress()
	require.NotZero(t, status.SucceededAt)
	require.Zero(t, status.FailedAt)
	require.Empty(t, status.Secret)
}

// Two workers share the work with a receiver that fails at random, and that sometimes has a
// batch although it seems to have failed. One worker is lost in the middle of its turns.
func TestEventsComeInOrderThroughFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	random := rand.New(rand.NewPCG(1, 2))
	r.answers(func() int {
		return []int{200, 200, 200, 500, 502, 429, 410, 404}[random.IntN(8)]
	})
	defer r.sends()()
	crashes := 0
	defer r.sends(func(s *callbacks.Sender) {
		s.Timeout, s.Margin = 100*time.Millisecond, 50*time.Millisecond
		s.Poster = dying{s.Poster, func() bool { crashes++; return crashes%3 == 0 }}
	})()
	for range 40 {
		r.happen(10)
	}
	r.waitFor(400)
}

// dying posts, and then answers as if the worker had been killed: its turn is never settled.
type dying struct {
	callbacks.Poster

	now func() bool
}

func (d dying) Post(ctx context.Context, b webhook.Batch) notifier.Result {
	result := d.Poster.Post(ctx, b)
	if d.now() {
		<-ctx.Done() // until another worker has the turn
	}
	return result
}

func TestEventsBecomeDead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.answers(func() int { return http.StatusGone })
	r.happen(30)
	stop := r.sends()
	require.Eventually(t, func() bool { return r.progress().Attempts >= 3 }, 10*time.Second, 10*time.Millisecond)
	stop()
	status := r.progress()
	require.Equal(t, "gone", status.Reason)
	require.Equal(t, [2]int{30, 0}, [2]int{status.Waiting, status.Dead})
	require.NotZero(t, status.NextAt)

	stop = r.sends(func(s *callbacks.Sender) { s.GiveUp = time.Millisecond })
	require.Eventually(t, func() bool { return r.progress().Dead == 30 }, 10*time.Second, 10*time.Millisecond)
	stop()
	defer r.sends()()
	r.answers(func() int { return http.StatusOK })
	r.happen(5)
	require.Eventually(t, func() bool { return len(r.got()) == 5 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, []int{31, 32, 33, 34, 35}, r.got())
	require.Eventually(t, func() bool { return r.progress().Attempts == 0 }, 10*time.Second, 10*time.Millisecond)
}

func TestACallbackThatIsRemovedGetsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	defer r.sends()()
	r.happen(1)
	r.waitFor(1)
	require.NoError(t, r.registry.Remove(t.Context(), "acme"))
	r.happen(1)
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "beta"})
	require.NoError(t, err)
	_, err = r.registry.Status(t.Context(), "acme")
	require.ErrorContains(t, err, `no callback of account "acme"`)
	_, err = r.registry.Status(t.Context(), "nobody")
	require.ErrorContains(t, err, `no account "nobody"`)
	_, err = r.registry.Set(t.Context(), "nobody", "https://example.com/", "")
	require.ErrorContains(t, err, `no account "nobody"`)

	// Set again, it begins with the events from then on.
	url := "http://127.0.0.1:1/"
	_, err = r.registry.Set(t.Context(), "acme", url, "")
	require.NoError(t, err)
	require.Zero(t, r.progress().Waiting)
	require.Len(t, r.got(), 1)
}

// An event tells the reason in the words of the status.
func TestTheReasonOfAnEvent(t *testing.T) {
	t.Parallel()
	for stored, told := range map[string]string{
		"late 1 60000":        "late: 1/minute was in the way",
		"late 2 -3 marketing": "late: marketing 2/calendar_day was in the way",
		"late quiet":          "late: quiet hours were in the way",
		"late":                "late",
		"no_free_time":        "no_free_time",
		"":                    "",
	} {
		require.Equal(t, told, callbacks.EventOf("acme", events.Event{Type: events.Postponed, Reason: stored}).Data.Reason)
	}
}

func newClock() *storeclock.Clocks { return storeclock.NewClocks(nil, "") }
