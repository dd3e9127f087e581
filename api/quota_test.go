package api_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// atNow has the server's clock stand where the store's does. It is no clock for
// the deadlines of connections: see direct.
func atNow(o *api.Options) { o.Now = now }

// direct has a request answered without a connection. The key "" is none.
func (r *rig) direct(key string, q request) reply {
	r.Helper()
	asked := httptest.NewRequestWithContext(r.Context(), q.method, q.target, strings.NewReader(q.body))
	asked.Host = "127.0.0.1"
	asked.Header.Set("Content-Type", "application/json")
	maps.Copy(asked.Header, q.header)
	if key != "" {
		asked.Header.Set("Authorization", "Bearer "+key)
	}
	got := httptest.NewRecorder()
	r.handler.ServeHTTP(got, asked)
	return reply{status: got.Code, header: got.Header(), body: got.Body.Bytes()}
}

// quota gives own a tier of so many messages an hour, and returns a key.
func (r *rig) quota(perHour int64) string {
	r.Helper()
	tier := accounts.Tier{Name: "small", RequestsPerMinute: 60, MessagesPerHour: perHour, MessagesPerDay: 10}
	require.NoError(r, r.accounts.SetTier(r.Context(), tier))
	_, err := r.accounts.Create(r.Context(), accounts.Account{Name: "own", Tier: "small"})
	require.NoError(r, err)
	return r.key("own", accounts.ScopeSubmit, accounts.ScopeRead)
}

// Waiting helps once the period has ended. Clients are told to wait for an hour at most:
// a period that ends later refuses the send time.
func TestHowLongAQuotaIsUsedUp(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		used, over, resets, retryAfter string
		status                         int
	}{
		"the present hour": {`"now"`, `"now"`, "2026-11-21T11:00:00.000Z", "3600", http.StatusTooManyRequests},
		"the next hour":    {`"2026-11-21T11:10:00Z"`, `"2026-11-21T11:20:00Z"`, "2026-11-21T12:00:00.000Z", "", http.StatusConflict},
		"tomorrow":         {`"` + on22("11:11:11") + `"`, `"` + on22("11:59:59") + `"`, on22("12:00:00.000"), "", http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, locked, atNow)
			secret := r.quota(1)
			draft := func(user, id, at string) request {
				return request{method: http.MethodPost, target: messagesPath, body: `{"user":"` + user + `","id":"` + id + `","send_at":` + at + `,"title":"Hi"}`}
			}
			require.Equal(t, http.StatusCreated, r.direct(secret, draft("alice", "a", row.used)).status)
			require.Equal(t, http.StatusCreated, r.direct(secret, draft("bob", "b", `"`+on22("20:00:00")+`"`)).status)
			over := draft("carol", "c", row.over+`,"on_conflict":"refuse"`)
			dry := over
			dry.target += "/dry-run"
			move := request{method: http.MethodPatch, target: "/v1/users/bob/messages/b", body: `{"send_at":` + row.over + `}`}
			for _, q := range []request{over, dry, move} {
				got := r.direct(secret, q)
				p := r.problem(row.status, got)
				require.Equal(t, fault.CodeQuotaExceeded, p.Code, q.target)
				require.Equal(t, row.resets, p.ResetsAt.Format(message.TimeLayout))
				require.Equal(t, row.retryAfter, got.header.Get("Retry-After"), q.target)
				require.Equal(t, q.method == http.MethodPost, strings.Contains(strings.Join(got.header.Values("RateLimit"), ","), `"messages_per_day";r=`), "what the day has left")
			}
			require.Equal(t, http.StatusNotFound, r.direct(secret, request{method: http.MethodGet, target: "/v1/users/carol/messages/c"}).status)
		})
	}
}

// Each line of a batch is charged, and only lines beyond the quota are refused. As a request, the
// batch counts once.
func TestABatchIsChargedByTheLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	secret := r.quota(2)
	line := func(user, at string) string { return `{"user":"` + user + `","send_at":"` + at + `","title":"Hi"}` }
	got := r.direct(secret, request{
		method: http.MethodPost, target: batchPath, header: http.Header{"Content-Type": {"application/x-ndjson"}},
		body: strings.Join([]string{
			line("alice", on22("11:00:00")), line("alice", on22("11:00:30")), line("alice", on22("11:10:00")),
			line("alice", on22("11:20:00")), line("alice", on22("12:00:00")), `{"user":"alice"}`,
		}, "\n"),
	})
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `"requests_per_minute";r=59;t=60`, got.header.Get("RateLimit"))
	var codes []fault.Code
	for text := range strings.Lines(string(got.body)) {
		codes = append(codes, into[message.Outcome](t, http.StatusOK, reply{status: got.status, header: got.header, body: []byte(text)}).Code)
	}
	require.Equal(t, []fault.Code{"", "send_limit", "", "quota_exceeded", "", "invalid_field"}, codes,
		"what the user's rules refuse is not charged")
}

// An account sees how much of its hour and day is used, and an operator that of any.
func TestHowMuchOfAQuotaIsUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	require.NoError(t, r.accounts.SetTier(t.Context(), accounts.Tier{Name: "day", MessagesPerDay: 3}))
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "own", Tier: "day", TimeZone: "Europe/Berlin"})
	require.NoError(t, err)
	own, admin := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead), r.key("boss", accounts.ScopeAdmin)
	for id, at := range map[string]string{"a": `"now"`, "b": `"2026-11-21T20:00:00Z"`, "c": `"2026-11-21T23:30:00Z"`} {
		q := request{method: http.MethodPost, target: messagesPath, body: `{"user":"` + id + `","id":"` + id + `","send_at":` + at + `,"title":"Hi"}`}
		require.Equal(t, http.StatusCreated, r.direct(own, q).status)
	}
	left := int64(1)
	for secret, target := range map[string]string{own: "/v1/usage", admin: "/v1/accounts/own/usage"} {
		got := into[message.AccountUsage](t, http.StatusOK, r.direct(secret, request{method: http.MethodGet, target: target}))
		require.Equal(t, "own", got.Account)
		require.Equal(t, "day", got.Tier)
		require.Equal(t, int64(1), got.Hour.Used)
		require.Nil(t, got.Hour.Remaining, "the hour has no limit")
		require.Equal(t, int64(2), got.Day.Used, "23:30 is tomorrow in Berlin")
		require.Equal(t, int64(3), got.Day.Limit)
		require.Equal(t, &left, got.Day.Remaining)
		require.Equal(t, "2026-11-20T23:00:00.000Z", got.Day.From.Format(message.TimeLayout))
		require.Equal(t, "2026-11-21T23:00:00.000Z", got.Day.Until.Format(message.TimeLayout))
	}
	r.problem(http.StatusForbidden, r.direct(own, request{method: http.MethodGet, target: "/v1/accounts/boss/usage"}))
}

// The answer to a submit has the day's quota in its header fields, beside the requests of
// the minute.
func TestAnswersHaveTheQuotaOfTheDay(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	require.NoError(t, r.accounts.SetTier(t.Context(), accounts.Tier{Name: "day", RequestsPerMinute: 60, MessagesPerDay: 2}))
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "own", Tier: "day"})
	require.NoError(t, err)
	secret := r.key("own", accounts.ScopeSubmit)
	for i, row := range []struct {
		user, at  string
		status    int
		remaining string
	}{
		{"alice", "2026-11-21T20:00:00Z", http.StatusCreated, "1"},
		{"alice", "2026-11-21T20:00:01Z", http.StatusConflict, "1"}, // a rule refuses it: it is not charged
		{"bob", "2026-11-21T20:00:00Z", http.StatusCreated, "0"},
		{"carol", "2026-11-21T20:00:00Z", http.StatusConflict, "0"}, // the quota does
	} {
		got := r.direct(secret, request{
			method: http.MethodPost, target: messagesPath, body: `{"user":"` + row.user + `","send_at":"` + row.at + `","title":"Hi"}`,
		})
		require.Equal(t, row.status, got.status, "%s", got.body)
		require.Equal(t, `"requests_per_minute";q=60;w=60, "messages_per_day";q=2;w=86400`, got.header.Get("RateLimit-Policy"))
		require.Equal(t, `"requests_per_minute";r=`+strconv.Itoa(59-i)+`;t=60, "messages_per_day";r=`+row.remaining+`;t=50400`,
			got.header.Get("RateLimit"), "%s", got.body)
	}
}
