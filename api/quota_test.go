package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
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
	for _, got := range []message.AccountUsage{
		into[message.AccountUsage](t, http.StatusOK, r.direct(own, request{method: http.MethodGet, target: "/v1/usage"})),
		into[message.AccountDetails](t, http.StatusOK, r.direct(admin, request{method: http.MethodGet, target: "/v1/accounts/own"})).Usage,
	} {
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
	r.problem(http.StatusForbidden, r.direct(own, request{method: http.MethodGet, target: "/v1/accounts/boss"}))
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

// A full minute is a conflict, and waiting does not help.
func TestAThrottleIsAConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	put := r.send(conditional(http.MethodPut, "/v1/policies/default", `{"rules":["1/minute"],"categories":{"ads":{"throttle":"1/minute"}}}`, ""))
	require.Equal(t, http.StatusOK, put.status, string(put.body))
	require.Contains(t, string(r.get("/v1/policies/default").body), `"throttle":"1/minute"`)
	draft := func(target, user, at string) request {
		return conditional(http.MethodPost, target, `{"user":"`+user+`","id":"`+user+`","send_at":"`+at+`","title":"Hi","category":"ads"}`, "")
	}
	require.Equal(t, http.StatusCreated, r.send(draft(messagesPath, "alice", on22("12:00:10"))).status)
	require.Equal(t, http.StatusCreated, r.send(draft(messagesPath, "carol", on22("13:00:10"))).status)
	for _, q := range []request{
		draft(messagesPath, "bob", on22("12:00:50")), draft(messagesPath+"/dry-run", "bob", on22("12:00:50")),
		conditional(http.MethodPatch, "/v1/users/carol/messages/carol", `{"send_at":"`+on22("12:00:50")+`"}`, ""),
	} {
		got := r.send(q)
		p := r.problem(http.StatusConflict, got)
		require.Equal(t, fault.CodeThrottled, p.Code, q.target)
		require.Equal(t, on22("12:01:00.000"), p.NextFreeAt.Format(message.TimeLayout))
		require.Empty(t, got.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusUnprocessableEntity,
		r.send(conditional(http.MethodPut, "/v1/policies/default", `{"rules":["1/minute"],"categories":{"ads":{"throttle":"5/day"}}}`, "")).status)
}

// newPlacesRig serves a store in which a user may have only so many messages in a day.
func newPlacesRig(t *testing.T, most int, options ...func(*api.Options)) *rig {
	t.Helper()
	r := newRig(t)
	submitter, err := submit.New(taskstest.Open(t, r.client, backend.Options{Options: sendlimit.Options{PlacesPerDay: most}}), submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, submitter.Close()) })
	r.serves(append(options, func(o *api.Options) { o.Submitter = submitter })...)
	return r
}

// A user may have only so many messages in a day, whatever the rules allow.
func TestAFullDayIsAConflict(t *testing.T) {
	t.Parallel()
	for most, messages := range map[int]string{1: "1 message", 2: "2 messages"} {
		r := newPlacesRig(t, most)
		for i := range most {
			r.accepted(`{"user":"alice","send_at":"` + on22([]string{"11:11:11", "12:11:11"}[i]) + `","title":"Hi"}`)
		}
		for _, target := range []string{messagesPath, messagesPath + "/dry-run"} {
			p := r.problem(http.StatusConflict, r.post(target, `{"user":"alice","send_at":"`+on22("15:00:00")+`","title":"Hi"}`))
			require.Equal(t, fault.CodeTooManyPlaces, p.Code)
			require.Equal(t, "alice already has "+messages+" on 2026-11-22 (UTC), the most that the setting places_per_day allows;"+
				" the next free time is 2026-11-23 00:00:00", p.Detail)
			require.Equal(t, "2026-11-23T00:00:00.000Z", p.NextFreeAt.Format(message.TimeLayout))
		}
	}
}

// One account filled a user's day, and the others were refused until the next.
func TestAnAccountLeavesPlacesToOthers(t *testing.T) {
	t.Parallel()
	r := newPlacesRig(t, 4, locked)
	line := func(clock string) string {
		return `{"user":"alice","id":"at-` + clock[:2] + `","send_at":"` + on22(clock) + `","title":"Hi"}`
	}
	sole := r.key("sole", accounts.ScopeSubmit)
	r.key("reader", accounts.ScopeRead, accounts.ScopeAdmin)
	for _, o := range r.judged(sole, checkBatchPath, line("11:00:00"), line("12:00:00"), line("13:00:00"), line("14:00:00")) {
		require.Equal(t, message.Accepted, o.Outcome, "no other account is active: %+v", o)
	}

	r = newPlacesRig(t, 4, locked)
	own, other := r.key("own", accounts.ScopeSubmit), r.key("other", accounts.ScopeSubmit)
	for _, o := range r.judged(own, batchPath, line("11:00:00"), line("12:00:00"), line("13:00:00")) {
		require.Equal(t, message.Accepted, o.Outcome, o)
	}
	for _, path := range []string{checkBatchPath, batchPath} {
		o := r.judged(own, path, line("14:00:00"))[0]
		require.Equal(t, fault.CodeAccountPlaces, o.Code, path)
		require.Equal(t, "the account has 3 messages to alice on 2026-11-22 (UTC), the most of them that the setting account_places allows"+
			" one account; the next free time is 2026-11-23 00:00:00", o.Detail, path)
	}
	next := r.judged(own, batchPath, strings.Replace(line("14:00:00"), "-22T", "-23T", 1))[0]
	require.Equal(t, message.Accepted, next.Outcome)
	move := request{method: http.MethodPatch, target: "/v1/users/alice/messages/at-14", body: `{"send_at":"` + on22("14:00:00") + `"}`}
	require.Equal(t, fault.CodeAccountPlaces, r.problem(http.StatusConflict, r.with(own, move)).Code)
	require.Equal(t, message.Accepted, r.judged(other, batchPath, line("15:00:00"))[0].Outcome)
	full := r.judged(other, batchPath, line("16:00:00"))[0]
	require.Equal(t, fault.CodeTooManyPlaces, full.Code)
	require.Equal(t, message.SomeOfOthers, full.Others)
	require.Regexp(t, "; some messages in the way are other accounts'$", full.Detail)
}

// Any account could submit messages of a category that no rule judges.
func TestACategoryIsReserved(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own, other, operator := r.key("own", accounts.ScopeSubmit), r.key("other", accounts.ScopeSubmit), r.key("operator", accounts.ScopeAdmin)
	put := request{
		method: http.MethodPut, target: "/v1/policies/default",
		body: `{"rules":["1/minute"],"categories":{"codes":{"exempt":true,"accounts":["own"]}}}`,
	}
	require.Equal(t, http.StatusOK, r.with(operator, put).status)
	submit := request{method: http.MethodPost, body: `{"user":"alice","send_at":"` + on22("11:11:11") + `","category":"codes","title":"Hi"}`}
	for _, submit.target = range []string{messagesPath + "/dry-run", messagesPath} {
		p := r.problem(http.StatusUnprocessableEntity, r.with(other, submit))
		require.Equal(t, fault.CodeCategoryReserved, p.Code)
		require.Equal(t, "category", p.Field)
		require.Equal(t, "the category is for other accounts: the policy names those that may use it, and this is none of them", p.Detail)
	}
	require.Equal(t, http.StatusCreated, r.with(own, submit).status)
}

// One account used up the rules of a user.
func TestAnAccountsShareOfTheRules(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own, other, operator := r.key("own", accounts.ScopeSubmit), r.key("other", accounts.ScopeSubmit), r.key("operator", accounts.ScopeAdmin)
	put := request{method: http.MethodPut, target: "/v1/policies/default", body: `{"rules":["4/calendar_day"],"account_share":"50%"}`}
	require.Equal(t, http.StatusOK, r.with(operator, put).status)
	line := func(clock string) string { return `{"user":"alice","send_at":"` + on22(clock) + `","title":"Hi"}` }
	for _, o := range r.judged(own, batchPath, line("11:00:00"), line("12:00:00")) {
		require.Equal(t, message.Accepted, o.Outcome, o)
	}
	for _, path := range []string{checkBatchPath, batchPath} {
		o := r.judged(own, path, line("13:00:00"))[0]
		require.Equal(t, fault.CodeSendLimit, o.Code)
		require.Equal(t, "the account has 2 messages to alice around then, and 2 of 4/calendar_day is the most for one account;"+
			" the next free time is 2026-11-23 00:00:00", o.Detail)
		require.Len(t, o.Violations, 1)
		require.Equal(t, 2, o.Violations[0].AccountLimit)
		require.Equal(t, "4/calendar_day", o.Violations[0].Rule)
		require.Len(t, o.Violations[0].Conflicts, 2)
	}
	require.Equal(t, message.Accepted, r.judged(other, batchPath, line("13:00:00"))[0].Outcome)
}

// A tier's requests per day are counted like those per minute: each kind separately, and shown in
// every answer, in the refusal and by usage.
func TestRequestsPerDay(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	set := r.direct(r.key("op", accounts.ScopeAdmin), request{
		method: http.MethodPut, target: "/v1/tiers/small", body: `{"requests_per_minute":100,"requests_per_day":3}`,
	})
	require.Equal(t, http.StatusOK, set.status, "%s", set.body)
	require.Contains(t, string(set.body), `"requests_per_day":3`)
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "own", Tier: "small", TimeZone: "Asia/Tokyo"})
	require.NoError(t, err)
	key := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead)

	submits := request{method: http.MethodPost, target: "/v1/messages/dry-run", body: `{"user":"alice","send_at":"now","title":"a"}`}
	for left := range 3 {
		got := r.direct(key, submits)
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		require.Contains(t, got.header.Get("RateLimit-Policy"), `"requests_per_day";q=3;w=86400`)
		require.Contains(t, got.header.Get("RateLimit"), `"requests_per_day";r=`+string(rune('2'-left))+";t=")
	}
	got := r.direct(key, submits)
	require.Equal(t, http.StatusTooManyRequests, got.status)
	require.Contains(t, string(got.body), `"rate_limited"`)
	require.Contains(t, string(got.body), "requests_per_day")
	require.NotEmpty(t, got.header.Get("Retry-After"))

	got = r.direct(key, request{method: http.MethodGet, target: "/v1/usage"})
	require.Equal(t, http.StatusOK, got.status, "reads have a counter of their own")
	require.Contains(t, got.header.Get("RateLimit"), `"reads_per_day";r=2;t=`)
	var usage message.AccountUsage
	require.NoError(t, json.Unmarshal(got.body, &usage))
	require.NotNil(t, usage.Requests)
	require.Equal(t, int64(3), usage.Requests.Submit.Used)
	require.Zero(t, usage.Requests.Submit.Remaining)
	require.Equal(t, int64(1), usage.Requests.Read.Used, "this one")
	require.Equal(t, int64(3), usage.Requests.Change.Remaining)
	require.Equal(t, "2026-11-21T00:00:00Z", usage.Requests.Read.From.Format("2006-01-02T15:04:05Z07:00"), "in UTC")

	// The next day begins with nothing used.
	r.store.SetTime(now().AddDate(0, 0, 1))
	got = r.direct(key, request{method: http.MethodGet, target: "/v1/usage"})
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.header.Get("RateLimit"), `"reads_per_day";r=2;t=`)
}

// A request that brings its account to a threshold of an event raises the alert, and the
// queue has it at once.
func TestRequestsAlertAsEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked, atNow)
	events := counters.NewEvents(r.client, keyspace.KeysUnder(""))
	require.NoError(t, events.Set(t.Context(), counters.EventLimits{
		Name: "read", PerDay: 5, AlertAt: []int{80, 100}, AlertTo: "ops@example.com",
	}))
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "own"})
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
