package counters_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// newCounters returns counters on a server whose clock stands still.
func newCounters(t *testing.T) (limits *counters.Counters, setTime func(time.Time)) {
	t.Helper()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("2050-11-22T11:11:11.250Z"))
	events := counters.NewEvents(client, keyspace.KeysUnder(""))
	require.NoError(t, events.Set(t.Context(), counters.EventLimits{Name: "submit", PerMinute: 2, PerDay: 500}))
	limits = counters.New(client, keyspace.KeysUnder(""))
	return limits, server.SetTime
}

// newUnreachable returns counters whose store is unreachable.
func newUnreachable(t *testing.T) *counters.Counters {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	counters := counters.New(client, keyspace.KeysUnder(""))
	return counters
}

func TestGuardedFunction(t *testing.T) {
	t.Parallel()
	limits, setTime := newCounters(t)
	ran := 0
	greet := counters.Guarded(
		counters.Guard[string]{Counters: limits, Event: "submit", Key: func(_ context.Context, name string) string { return name }},
		func(_ context.Context, name string) (string, error) {
			ran++
			return "hello " + name, nil
		})
	for range 2 {
		greeting, err := greet(t.Context(), "alice")
		require.NoError(t, err)
		require.Equal(t, "hello alice", greeting)
	}
	greeting, err := greet(t.Context(), "alice")
	require.Empty(t, greeting)
	require.Equal(t, 2, ran, "what is refused does not run")
	require.EqualError(t, err, "too many calls for the counter minute, which allows 2 per minute: try again in 48.75s")
	var limited *counters.LimitedError
	require.ErrorAs(t, err, &limited)
	require.Equal(t, fault.CodeRateLimited, limited.Code())
	require.Equal(t, "submit", limited.Event)
	require.Equal(t, "alice", limited.Key)
	require.Equal(t, story.At("2050-11-22T11:12:00Z"), limited.Decision.ResetsAt)

	_, err = greet(t.Context(), "bob")
	require.NoError(t, err, "each key has its own")
	for range 5 {
		_, err = greet(t.Context(), "")
		require.NoError(t, err, "without a key nothing is counted")
	}

	setTime(limited.Decision.ResetsAt)
	_, err = greet(t.Context(), "alice")
	require.NoError(t, err)
}

func TestGuardWithExtraCounters(t *testing.T) {
	t.Parallel()
	limits, _ := newCounters(t)
	tier := int64(1)
	guard := counters.Guard[string]{
		Counters: limits, Event: "submit",
		Key: func(_ context.Context, name string) string { return name },
		Extra: func(context.Context, string) []counters.Counter {
			if tier == 0 {
				return nil
			}
			return []counters.Counter{{Name: "tier", Limit: tier, Period: calendar.Minute}}
		},
	}
	_, err := guard.Admit(t.Context(), "alice")
	require.NoError(t, err)
	d, err := guard.Admit(t.Context(), "alice")
	require.EqualError(t, err, "too many calls for the counter tier, which allows 1 per minute: try again in 48.75s")
	require.Equal(t, "tier", d.Counter)
	require.EqualValues(t, 1, d.Counters[0].Used, "the event's own is not charged")
	tier = 5
	_, err = guard.Admit(t.Context(), "alice")
	require.NoError(t, err)
	_, err = guard.Admit(t.Context(), "alice")
	require.ErrorContains(t, err, "minute, which allows 2 per minute")

	guard.Event, tier = "", 0
	d, err = guard.Admit(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, d.Allowed, "with no limit at all nothing is limited")
	tier = -1
	_, err = guard.Admit(t.Context(), "alice")
	require.ErrorAs(t, err, new(*fault.InvalidError))
}

func TestAGuardFailsClosedWithoutAStore(t *testing.T) {
	t.Parallel()
	guard := counters.Guard[string]{
		Counters: newUnreachable(t), Event: "submit", Key: func(_ context.Context, name string) string { return name },
	}
	_, err := guard.Admit(t.Context(), "alice")
	require.ErrorAs(t, err, new(*fault.UnavailableError), "it fails closed")
	require.NotErrorAs(t, err, new(*counters.LimitedError), "an outage is no limit")

	var reason error
	guard.OnUnavailable = func(_ context.Context, err error) { reason = err }
	d, err := guard.Admit(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.ErrorAs(t, reason, new(*fault.UnavailableError), "but not in silence")

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = guard.Admit(gone, "alice")
	require.ErrorIs(t, err, context.Canceled, "a caller that gave up says nothing about the store")
}

// serveGuarded sends a request to a guarded handler. It reports whether the
// handler ran.
func serveGuarded(t *testing.T, limits *counters.Counters, refuse func(http.ResponseWriter, *http.Request, int, error)) (*httptest.ResponseRecorder, bool) {
	t.Helper()
	ran := false
	handler := counters.GuardHandler(
		counters.Guard[*http.Request]{
			Counters: limits, Event: "submit",
			Key: func(_ context.Context, r *http.Request) string { return r.Header.Get("From") },
		},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true }), refuse)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	request.Header.Set("From", "alice")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer, ran
}

func TestGuardedHandler(t *testing.T) {
	t.Parallel()
	limits, _ := newCounters(t)
	const policy = `"minute";q=2;w=60, "day";q=500;w=86400`

	answer, ran := serveGuarded(t, limits, nil)
	require.True(t, ran)
	require.Equal(t, policy, answer.Header().Get("RateLimit-Policy"))
	require.Equal(t, `"minute";r=1;t=49, "day";r=499;t=46129`, answer.Header().Get("RateLimit"))
	require.Empty(t, answer.Header().Get("Retry-After"))
	_, ran = serveGuarded(t, limits, nil)
	require.True(t, ran)

	answer, ran = serveGuarded(t, limits, nil)
	require.False(t, ran)
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "49", answer.Header().Get("Retry-After"), "rounded up: not a moment too early")
	require.Equal(t, policy, answer.Header().Get("RateLimit-Policy"))
	require.Equal(t, `"minute";r=0;t=49, "day";r=498;t=46129`, answer.Header().Get("RateLimit"))
	require.Equal(t, "too many calls for the counter minute, which allows 2 per minute: try again in 48.75s\n", answer.Body.String())

	answer, _ = serveGuarded(t, limits, func(w http.ResponseWriter, _ *http.Request, status int, err error) {
		var limited *counters.LimitedError
		require.ErrorAs(t, err, &limited)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"code":"` + limited.Code() + `"}`))
	})
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "49", answer.Header().Get("Retry-After"))
	require.JSONEq(t, `{"code":"rate_limited"}`, answer.Body.String())
}

func TestAGuardedHandlerFailsClosedWithoutAStore(t *testing.T) {
	t.Parallel()
	answer, ran := serveGuarded(t, newUnreachable(t), nil)
	require.False(t, ran)
	require.Equal(t, http.StatusServiceUnavailable, answer.Code, "an outage is not 429")
	require.Equal(t, "1", answer.Header().Get("Retry-After"))
	require.Empty(t, answer.Header().Get("RateLimit"))
	require.Equal(t, "Service Unavailable\n", answer.Body.String())

	var cause error
	answer, _ = serveGuarded(t, newGarbled(t), func(w http.ResponseWriter, _ *http.Request, status int, err error) {
		cause = err
		w.WriteHeader(status)
	})
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.ErrorIs(t, cause, fault.ErrReply)
}

// newGarbled returns counters on a store with invalid replies.
func newGarbled(t *testing.T) *counters.Counters {
	t.Helper()
	counters := counters.New(redistest.FixedReply{Reply: []any{"x"}}, keyspace.KeysUnder(""))
	return counters
}

func TestRepliesOfCountersAreChecked(t *testing.T) {
	t.Parallel()
	row := []any{int64(5), int64(-1), int64(1), int64(60000), int64(120000)}
	for name, reply := range map[string][]any{
		"empty":             {},
		"too short":         {int64(1), int64(9)},
		"no such status":    {int64(2), int64(9), int64(0), int64(0), "", row},
		"no such counter":   {int64(0), int64(9), int64(2), int64(0), "", row},
		"refused by none":   {int64(0), int64(9), int64(0), int64(0), "", row},
		"one is missing":    {int64(1), int64(9), int64(0), int64(0), ""},
		"one too many":      {int64(1), int64(9), int64(0), int64(0), "", row, row},
		"row of texts":      {int64(1), int64(9), int64(0), int64(0), "", []any{"a", "b"}},
		"row is no row":     {int64(1), int64(9), int64(0), int64(0), "", int64(5)},
		"another period":    {int64(1), int64(9), int64(0), int64(0), "", []any{int64(5), int64(-2), int64(1), int64(1), int64(2)}},
		"zone is no text":   {int64(-2), int64(9), int64(3)},
		"zone without end":  {int64(-2), int64(9), "Europe/Berlin"},
		"event's has no id": {int64(1), int64(9), int64(0), int64(1), "", row, row, int64(1)},
	} {
		limits := counters.New(redistest.FixedReply{Reply: reply}, keyspace.KeysUnder(""))
		d, err := limits.Count(t.Context(), counters.Request{
			Event: "submit", Key: "a", Counters: []counters.Counter{{Name: "m", Limit: 5, Period: calendar.Minute}},
		})
		require.ErrorIs(t, err, fault.ErrReply, name)
		require.Zero(t, d, name)
	}
}
