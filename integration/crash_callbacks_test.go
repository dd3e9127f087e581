package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/sendlimit/events"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Callbacks of the crash rounds: the account has one. Whoever dies, before the receiver had a
// request, after it took it, or before the answer is stored: the receiver gets every event of
// the account, in the order of the log, and tells by the ids what it got before.

// callbackReceiver is what an account's events are posted to.
type callbackReceiver struct {
	registry *callbacks.Registry
	server   *httptest.Server
	secret   string

	mu    sync.Mutex
	known map[string]bool
	first []message.Event // without those that it knew
	again int             // how many those were
	wrong []string        // what was wrong with requests
}

// openCallback gives the account of the round a callback.
func (r *crashRound) openCallback() {
	r.Helper()
	c := &callbackReceiver{known: make(map[string]bool)}
	c.server = httptest.NewServer(http.HandlerFunc(c.receive))
	r.Cleanup(c.server.Close)
	var err error
	c.registry, err = callbacks.NewRegistry(r.store.client, events.Options{Prefix: r.base.Prefix}, contact.Callbacks{AllowInternal: true})
	require.NoError(r, err)
	status, err := c.registry.Set(r.Context(), crashAccount, c.server.URL, "")
	require.NoError(r, err)
	c.secret = status.Secret
	r.callback = c
}

func (c *callbackReceiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // its sender has died
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	verifier, err := standardwebhooks.NewWebhook(c.secret)
	if err == nil {
		err = verifier.Verify(body, request.Header)
	}
	var batch []message.Event
	if err == nil {
		err = json.Unmarshal(body, &batch)
	}
	if err != nil || len(batch) == 0 {
		c.wrong = append(c.wrong, fmt.Sprintf("callback: a request with %d events: %v", len(batch), err))
	}
	for _, e := range batch {
		if c.known[e.ID] {
			c.again++
			continue
		}
		c.known[e.ID] = true
		c.first = append(c.first, e)
	}
	w.WriteHeader(http.StatusNoContent)
}

// unposted counts the events of the account that its callback has not got.
func (r *crashRound) unposted() int {
	r.Helper()
	status, err := r.callback.registry.Status(r.Context(), crashAccount)
	require.NoError(r, err)
	require.Zero(r, status.Dead+status.Lost)
	return status.Waiting
}

// callbackFaults compares what the callback got with the log of the account.
func (r *crashRound) callbackFaults() []string {
	r.Helper()
	log, err := events.NewLog(r.store.client, events.Options{Prefix: r.base.Prefix})
	require.NoError(r, err)
	happened, err := log.Read(r.Context(), crashAccount, "", events.MaxRead)
	require.NoError(r, err)
	require.Less(r, len(happened), events.MaxRead)
	r.callback.mu.Lock()
	defer r.callback.mu.Unlock()
	faults := r.callback.wrong
	wanted := callbacks.EventsOf(crashAccount, happened)
	if len(wanted) != len(r.callback.first) {
		faults = append(faults, fmt.Sprintf("callback: it got %d events of %d", len(r.callback.first), len(wanted)))
	}
	for i := range min(len(wanted), len(r.callback.first)) {
		if got := r.callback.first[i]; fmt.Sprint(got) != fmt.Sprint(wanted[i]) {
			faults = append(faults, fmt.Sprintf("%s/%s: the callback got %+v as event %d, in place of %+v", got.Data.User, got.Data.ID, got, i, wanted[i]))
		}
	}
	return faults
}

// crashPoster has points around a request to a callback.
type crashPoster struct {
	hook *crashHook
	next callbacks.Poster
}

func newCrashPoster(t *testing.T, hook *crashHook) crashPoster {
	t.Helper()
	next, err := webhook.NewCallback(webhook.CallbackConfig{AllowInternal: true, Now: time.Now})
	require.NoError(t, err)
	return crashPoster{hook, next}
}

// Post posts through the inner poster.
func (p crashPoster) Post(ctx context.Context, b webhook.Batch) notifier.Result {
	call := p.hook.before(nil, callPost)
	result := p.next.Post(ctx, b)
	p.hook.after(call)
	return result
}
