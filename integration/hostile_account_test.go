package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

const (
	// hostileEnv is for how long the hostile account acts; the default is hostileDefault.
	hostileEnv     = "SENDLIMIT_TEST_HOSTILE"
	hostileDefault = 5 * time.Second
	// hostileCallers is how many requests of it there are at a time.
	hostileCallers = 48
	// quietEvery is the time between two messages of each other account.
	quietEvery = 40 * time.Millisecond
	// hostileNoise is how late is not yet late.
	hostileNoise = 50 * time.Millisecond
)

// An account that draws from everything that its keys allow does not have others refused, lost,
// shown. Alone on a machine, they are not much slower than without it either.
func TestAHostileAccount(t *testing.T) {
	t.Parallel()
	lasts := hostileDefault
	text := os.Getenv(hostileEnv)
	if text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	p := buildPrograms(t)
	server := redistest.Shared(t)
	seedDefaultPolicy(t, server.Client())
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	environ := []string{"REDIS_URL=" + server.URL()}
	a := &apiProcess{workerProcess: p.worker(t, environ, "--push-url", receiver.URL(), "--require-keys")}
	a.delivers(t)
	a.address = a.apiAddress(t)
	key := func(account string) string {
		made := p.answers(t, p.workerCommand(t, environ, "account", "create", account, "--scopes", "submit,read", "--json"))
		text, _ := made["key"].(string)
		return text
	}
	shop, bank := newQuietAccount(t, a, key("shop")), newQuietAccount(t, a, key("bank"))
	mallory := newHostileAccount(t, a, key("mallory"), shop.users, bank.users)

	phase := func(lasts time.Duration) (submits, late []time.Duration) {
		ctx, end := context.WithTimeout(t.Context(), lasts)
		defer end()
		var both sync.WaitGroup
		for _, q := range []*quietAccount{shop, bank} {
			both.Go(func() { q.submits(ctx) })
		}
		both.Wait()
		for _, q := range []*quietAccount{shop, bank} {
			took, after := q.ended(receiver)
			submits, late = append(submits, took...), append(late, after...)
		}
		return submits, late
	}
	phase(time.Second) // connections, caches
	submits, late := phase(max(lasts/2, 4*time.Second))
	ctx, end := context.WithCancel(t.Context())
	attack := mallory.begins(ctx)
	disturbedSubmits, disturbedLate := phase(lasts)
	end()
	attack.Wait()

	t.Logf("%d requests of the hostile account, of %d operations; submits took %s (99 %%) and %s beside it, messages were late by %s and %s",
		mallory.requests.Load(), len(mallory.operations), p99(submits), p99(disturbedSubmits), p99(late), p99(disturbedLate))
	t.Logf("its answers, by status: %v", mallory.counted())
	if text != "" { // beside other tests the figures are those of the machine
		require.Less(t, p99(disturbedSubmits), max(3*p99(submits), hostileNoise))
		require.Less(t, p99(disturbedLate), max(3*p99(late), hostileNoise))
	}
	require.Empty(t, mallory.shown, "what is others'")
	require.NotContains(t, a.stderr.String(), `"level":"ERROR"`)
	require.Zero(t, a.end(t))
}

func p99(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)*99/100].Truncate(time.Microsecond)
}

// quietAccount submits a message every quietEvery, to a user each.
type quietAccount struct {
	*testing.T

	api    *apiProcess
	key    string
	client *http.Client
	users  string // how they begin
	secret string // is in all ids and titles

	due   map[string]time.Time // of what was accepted since the last end
	took  []time.Duration
	count int
	seen  int // requests of the receiver
}

func newQuietAccount(t *testing.T, a *apiProcess, key string) *quietAccount {
	t.Helper()
	q := &quietAccount{
		T: t, api: a, key: key, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}, Timeout: 20 * time.Second},
		users: "user-" + keyspace.NewToken(), secret: "secret-" + keyspace.NewToken(), due: make(map[string]time.Time),
	}
	t.Cleanup(q.client.CloseIdleConnections)
	return q
}

// submits submits messages until ctx ends, whatever each takes.
func (q *quietAccount) submits(ctx context.Context) {
	var mu sync.Mutex
	var running sync.WaitGroup
	tick := time.NewTicker(quietEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		user, due := fmt.Sprint(q.users, "-", q.count), time.Now().Add(time.Second+time.Duration(q.count%40)*50*time.Millisecond).UTC().Truncate(time.Millisecond)
		q.count++
		running.Go(func() {
			began := time.Now()
			err := q.submit(context.WithoutCancel(ctx), user, due)
			mu.Lock()
			defer mu.Unlock()
			q.took = append(q.took, time.Since(began))
			if q.due[user] = due; err != nil {
				q.Errorf("a quiet account: %v", err)
			}
		})
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	running.Wait()
}

func (q *quietAccount) submit(ctx context.Context, user string, due time.Time) error {
	body := fmt.Sprintf(`{"id":"%s-%s","user":"%s","send_at":"%s","title":"%s","campaign":"spring"}`, q.secret, user, user, due.Format(time.RFC3339Nano), q.secret)
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+q.api.address+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	asked.Header.Set("Authorization", "Bearer "+q.key)
	asked.Header.Set("Content-Type", "application/json")
	got, err := q.client.Do(asked)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if got.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %d: %s", got.StatusCode, text)
	}
	return err
}

// ended waits until everything has arrived, once, and returns how long submits took and how
// late messages were.
func (q *quietAccount) ended(receiver *notifiertest.Receiver) (took, late []time.Duration) {
	q.Helper()
	arrived := make(map[string]bool)
	for limit := time.Now().Add(time.Minute); len(arrived) < len(q.due); {
		require.True(q, time.Now().Before(limit), "%d of %d messages arrived", len(arrived), len(q.due))
		requests := receiver.Requests()
		for _, r := range requests[q.seen:] {
			payload, err := r.Payload()
			require.NoError(q, err)
			due, mine := q.due[payload.User]
			if !mine {
				continue
			}
			require.False(q, arrived[payload.User], "twice")
			require.Equal(q, q.secret, payload.Title)
			arrived[payload.User] = true
			late = append(late, r.Arrived.Sub(due))
		}
		q.seen = len(requests)
		time.Sleep(20 * time.Millisecond)
	}
	took, q.took, q.due = q.took, nil, make(map[string]time.Time)
	return took, late
}

// hostileAccount asks for whatever there is.
type hostileAccount struct {
	*testing.T

	api        *apiProcess
	key        string
	others     []string // how users of others begin
	operations []hostileOperation
	random     func() *rand.Rand // for each caller
	requests   atomic.Int64

	mu       sync.Mutex
	statuses map[int]int
	shown    []string
}

// hostileOperation is an operation of the API.
type hostileOperation struct{ method, path string }

func newHostileAccount(t *testing.T, a *apiProcess, key string, others ...string) *hostileAccount {
	t.Helper()
	seeds := sendlimittest.Seeds(t, 2)
	var callers atomic.Uint64
	h := &hostileAccount{T: t, api: a, key: key, others: others, statuses: make(map[int]int), random: func() *rand.Rand {
		return rand.New(rand.NewPCG(seeds[len(seeds)-1], callers.Add(1)))
	}}
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.address+"/openapi.json", http.NoBody)
	require.NoError(t, err)
	got, err := http.DefaultClient.Do(asked)
	require.NoError(t, err)
	defer func() { require.NoError(t, got.Body.Close()) }()
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.NewDecoder(got.Body).Decode(&described))
	for path, methods := range described.Paths {
		for method := range methods {
			if method != "parameters" {
				h.operations = append(h.operations, hostileOperation{strings.ToUpper(method), path})
			}
		}
	}
	slices.SortFunc(h.operations, func(a, b hostileOperation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	require.Greater(t, len(h.operations), 60)
	return h
}

// begins asks until ctx ends.
func (h *hostileAccount) begins(ctx context.Context) *sync.WaitGroup {
	var callers sync.WaitGroup
	for range hostileCallers {
		client := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
		random := h.random()
		callers.Go(func() {
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				h.asks(ctx, client, random)
			}
		})
	}
	return &callers
}

// asks makes one request, and looks at its answer.
func (h *hostileAccount) asks(ctx context.Context, client *http.Client, random *rand.Rand) {
	h.requests.Add(1)
	method, target, body := h.draw(random)
	asked, err := http.NewRequestWithContext(ctx, method, "http://"+h.api.address+target, body)
	if err != nil {
		h.Errorf("a request of the hostile account: %v", err)
		return
	}
	asked.Header.Set("Authorization", "Bearer "+h.key)
	asked.Header.Set("Content-Type", "application/json")
	if strings.Contains(target, "/batch") {
		asked.Header.Set("Content-Type", "application/x-ndjson")
	}
	got, err := client.Do(asked)
	if err != nil {
		return // the worker ended it, or the attack did
	}
	defer func() { _ = got.Body.Close() }()
	if random.IntN(20) == 0 {
		return // it does not read the answer
	}
	if strings.HasPrefix(target, "/v1/events") {
		defer time.AfterFunc(time.Duration(random.IntN(2000))*time.Millisecond, func() { _ = got.Body.Close() }).Stop()
	}
	text, _ := io.ReadAll(got.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.statuses[got.StatusCode]++
	if bytes.Contains(text, []byte("secret-")) {
		h.shown = append(h.shown, method+" "+target+": "+string(text))
	}
}

// draw draws a request: a flood of submits, one that costs much, or any operation.
func (h *hostileAccount) draw(random *rand.Rand) (method, target string, body io.Reader) {
	switch random.IntN(8) {
	case 0, 1:
		return http.MethodPost, "/v1/messages", strings.NewReader(h.message(random))
	case 2:
		return http.MethodPost, []string{"/v1/messages/batch", "/v1/messages/batch/dry-run"}[random.IntN(2)], h.lines(random)
	case 3:
		return http.MethodPost, "/v1/users/" + h.own(random) + "/devices", strings.NewReader(fmt.Sprintf(
			`{"channel":"fcm","token":"%s"}`, strings.Repeat("x", 1+random.IntN(300))))
	case 4:
		return http.MethodGet, "/v1/messages?user_prefix=" + h.other(random) + "&limit=" + strconv.Itoa(1+random.IntN(1000)), http.NoBody
	}
	o := h.operations[random.IntN(len(h.operations))]
	target = o.path
	for strings.Contains(target, "{") {
		from, to := strings.Index(target, "{"), strings.Index(target, "}")
		value := fmt.Sprint("n", random.IntN(50))
		switch target[from+1 : to] {
		case "user":
			if value = h.own(random); o.method != http.MethodPost && random.IntN(2) == 0 {
				value = h.other(random)
			}
		case "account":
			value = []string{"shop", "bank", "mallory"}[random.IntN(3)]
		case "campaign":
			value = []string{"spring", "m1", "m2"}[random.IntN(3)]
		}
		target = target[:from] + value + target[to+1:]
	}
	switch {
	case o.method == http.MethodGet || o.method == http.MethodDelete:
		return o.method, target, http.NoBody
	case strings.Contains(target, "/batch"):
		return o.method, target, h.lines(random)
	case random.IntN(4) == 0:
		return o.method, target, strings.NewReader(strings.Repeat(`{"user":[`, random.IntN(5000)))
	}
	return o.method, target, strings.NewReader(h.message(random))
}

func (h *hostileAccount) own(random *rand.Rand) string {
	return fmt.Sprint("mallory-", random.IntN(2000))
}

func (h *hostileAccount) other(random *rand.Rand) string {
	return fmt.Sprint(h.others[random.IntN(len(h.others))], "-", random.IntN(200))
}

// message draws a message: many of them are due in the same millisecond.
func (h *hostileAccount) message(random *rand.Rand) string {
	due := time.Now().Add(time.Duration(1+random.IntN(4)) * time.Second).Truncate(time.Second)
	extra := []string{
		``, `,"campaign":"m1"`, `,"campaign":"m2"`, `,"on_conflict":"shift"`, `,"channels":{"apns":{"topic":"com.example.other"}}`,
		`,"to":{"channel":"fcm"}`, `,"category":"none"`, `,"metadata":{"k":"` + strings.Repeat("v", 400) + `"}`, `,"body":"` + strings.Repeat("b", 3000) + `"`,
	}[random.IntN(9)]
	return fmt.Sprintf(`{"id":"n%d","user":"%s","send_at":"%s","title":"x"%s}`, random.IntN(5000), h.own(random), due.UTC().Format(time.RFC3339), extra)
}

// lines draws a batch, which comes in parts.
func (h *hostileAccount) lines(random *rand.Rand) io.Reader {
	lines := make([]io.Reader, 1+random.IntN(300))
	for i := range lines {
		lines[i] = strings.NewReader(h.message(random) + "\n")
	}
	return io.MultiReader(lines...)
}

func (h *hostileAccount) counted() map[int]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.statuses
}
