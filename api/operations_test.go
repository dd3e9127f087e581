package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Users of any name are reached by the address that their message is said to
// have.
func TestUsersOfAnyNameSurviveThePath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, user := range []string{
		"alice", "a/b", "/", "//", "a/messages/b", "100%", "%2F", "who?", "#1", "a b", "+1", "ünïcode", "日本語", "..", ".", "...", "../..",
		`"quoted"`, `back\slash`, "a&b=c;d", "{user}", "*", ":", "💥", strings.Repeat("x", keyspace.MaxUser),
	} {
		id := fmt.Sprint("id-", i)
		draft := fmt.Sprintf(`{"user":%q,"id":%q,"send_at":%q,"title":"Hi"}`, user, id, on22("11:11:11"))
		got := r.post("/v1/messages", draft)
		require.Equal(t, http.StatusCreated, got.status, "%q: %s", user, got.body)
		at := got.header.Get("Location")
		require.NotContains(t, at, "/../", user)

		got = r.get(at)
		require.Equal(t, http.StatusOK, got.status, "%q at %s: %s", user, at, got.body)
		status := into[message.Status](t, http.StatusOK, got)
		require.Equal(t, []string{user, id}, []string{status.User, status.ID})
		all := strings.TrimSuffix(at, "/messages/"+id)
		list := into[message.Messages](t, http.StatusOK, r.get(all+"/messages"))
		require.Len(t, list.Messages, 1, user)
		require.Equal(t, user, into[message.Usage](t, http.StatusOK, r.get(all+"/usage")).User)
		require.Equal(t, user, into[message.FreeTimes](t, http.StatusOK, r.get(all+"/next-free")).Times[0].User)
		moved := r.send(request{http.MethodPatch, at, `{"send_at":"` + on22("12:00:00") + `"}`, nil})
		require.Equal(t, user, into[message.Outcome](t, http.StatusOK, moved).User)
		changed := r.send(request{http.MethodPatch, at, `{"title":"New","data":{"k":"v"}}`, nil})
		require.Equal(t, message.Changed, into[message.Outcome](t, http.StatusOK, changed).Outcome)
		status = into[message.Status](t, http.StatusOK, r.get(at))
		require.Equal(t, []string{"New", "v"}, []string{status.Title, status.Data["k"]})
		cancelled := r.send(request{method: http.MethodDelete, target: at})
		require.Equal(t, message.Cancelled, into[message.Outcome](t, http.StatusOK, cancelled).Outcome)
	}
	for _, user := range []string{"%00", "%FF", "a%0Ab", strings.Repeat("x", keyspace.MaxUser+1)} {
		p := r.problem(http.StatusUnprocessableEntity, r.get("/v1/users/"+user+"/messages"))
		require.Equal(t, "user", p.Field)
	}
}

// A message that was moved as often as a minute allows is no fault of the rules: waiting
// helps, and the answer says for how long.
func TestMovedTooOften(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	booked(r)
	move := func(seconds int) reply { // to a time within the horizon
		body := fmt.Sprintf(`{"send_at":%q}`, now().Add(time.Minute+time.Duration(seconds)*time.Second).Format(time.RFC3339))
		return r.send(request{http.MethodPatch, "/v1/users/alice/messages/a", body, nil})
	}
	for i := range sendlimit.DefaultMovesPerMinute {
		require.Equal(t, http.StatusOK, move(i).status)
	}
	r.store.SetTime(now().Add(18 * time.Second))
	got := move(30)
	p := r.problem(http.StatusTooManyRequests, got)
	require.Equal(t, fault.CodeRateLimited, p.Code)
	require.Equal(t, int64(42), p.RetryAfterSeconds)
	require.Equal(t, "42", got.header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, move(9).status, "the present time needs no move")
	r.store.SetTime(now().Add(time.Minute))
	require.Equal(t, http.StatusOK, move(30).status)
}

func TestTheIdempotencyKeyStandsForTheID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	submit := func(id string, keys ...string) reply {
		return r.send(request{
			http.MethodPost, "/v1/messages", fmt.Sprintf(`{"user":"alice",%s"send_at":%q,"title":"Hi"}`, id, on22("11:11:11")),
			http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": keys},
		})
	}
	require.Equal(t, "a", into[message.Outcome](t, http.StatusCreated, submit("", "a")).ID)
	again := into[message.Outcome](t, http.StatusOK, submit("", "a"))
	require.True(t, again.Replayed)
	require.True(t, into[message.Outcome](t, http.StatusOK, submit("", `"a"`)).Replayed, "as the header's own specification spells it")
	require.True(t, into[message.Outcome](t, http.StatusOK, submit(`"id":"a",`, "a")).Replayed)
	require.True(t, into[message.Outcome](t, http.StatusOK, submit(`"id":"a",`)).Replayed)

	p := r.problem(http.StatusUnprocessableEntity, submit(`"id":"a",`, "b"))
	require.Equal(t, "id", p.Field)
	require.Equal(t, `id "a" is not the Idempotency-Key "b": give one of them`, p.Detail)
	for _, keys := range [][]string{{""}, {"a", "b"}, {`"`}, {`""`}, {`"a`}, {"ü"}, {strings.Repeat("k", 256)}, {"a\tb"}} {
		p := r.problem(http.StatusUnprocessableEntity, submit("", keys...))
		require.Equal(t, "Idempotency-Key", p.Field, keys)
	}
}

// Following the cursors gives all messages, each once, and in order.
func TestAListGoesOnByItsCursor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	policies := settings.NewPolicies(r.client, keyspace.KeysUnder(""))
	loose, err := policy.Parse(policy.DefaultName, "", "100/minute")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), loose))
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("m%02d", i)
		want = append(want, id)
		// Messages at the same time are in the order of their ids.
		r.accepted(fmt.Sprintf(`{"user":"alice","id":%q,"send_at":%q,"title":"Hi"}`, id, on22(fmt.Sprintf("11:11:%02d", i/4))))
	}
	for _, limit := range []int{1, 3, 5, 24, 25, 26, 1000} {
		var got []string
		target := fmt.Sprintf("/v1/users/alice/messages?limit=%d", limit)
		pages := 0
		for cursor := ""; ; pages++ {
			page := into[message.Messages](t, http.StatusOK, r.get(target+cursor))
			require.LessOrEqual(t, len(page.Messages), limit)
			for _, m := range page.Messages {
				require.Equal(t, message.StatusScheduled, m.Status)
				got = append(got, m.ID)
			}
			if page.NextCursor == "" {
				break
			}
			require.Len(t, page.Messages, limit)
			cursor = "&cursor=" + url.QueryEscape(page.NextCursor)
		}
		require.Equal(t, want, got, "in pages of %d", limit)
		require.Equal(t, (25+limit-1)/limit, pages+1, "no page is empty")
	}
	some := into[message.Messages](t, http.StatusOK, r.get("/v1/users/alice/messages?from="+on22("11:11:01")+"&until="+on22("11:11:02")))
	require.Len(t, some.Messages, 4)
}

// Accounts, tiers, policies and limits of events are listed by name, each once, whatever is made
// meanwhile. Limits that were removed are passed over.
// A page reads only its own entries.
func TestListsByNameHavePages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"accounts", "tiers", "policies", "event-limits"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			add := func(entry string) {
				t.Helper()
				var err error
				switch name {
				case "accounts":
					_, err = r.accounts.Create(t.Context(), accounts.Account{Name: entry})
				case "tiers":
					err = r.accounts.SetTier(t.Context(), accounts.Tier{Name: entry})
				case "policies":
					loose, _ := policy.Parse(entry, "", "100/minute")
					err = r.options.Policies.Apply(t.Context(), loose)
				case "event-limits":
					err = r.options.Events.Set(t.Context(), counters.EventLimits{Name: entry, PerHour: 1})
				}
				require.NoError(t, err)
			}
			for _, entry := range []string{"m3", "m1", "m5", "m2", "default"} {
				add(entry)
			}
			type list struct {
				Accounts, Tiers, Policies []struct{ Name string }
				Events                    []struct{ Event string }
				NextCursor                string `json:"next_cursor"`
			}
			read := func(query string) ([]string, string) {
				t.Helper()
				page := into[list](t, http.StatusOK, r.get("/v1/"+name+query))
				names := []string{}
				for _, entry := range slices.Concat(page.Accounts, page.Tiers, page.Policies) {
					names = append(names, entry.Name)
				}
				for _, entry := range page.Events {
					names = append(names, entry.Event)
				}
				return names, page.NextCursor
			}
			all, cursor := read("")
			require.Equal(t, []string{"default", "m1", "m2", "m3", "m5"}, all)
			require.Empty(t, cursor)
			first, cursor := read("?limit=3")
			require.Equal(t, []string{"default", "m1", "m2"}, first)
			add("m0")
			add("m4")
			rest, end := read("?limit=3&cursor=" + cursor)
			require.Equal(t, []string{"m3", "m4", "m5"}, rest, "what is new comes in its place")
			require.Empty(t, end)
			if name == "event-limits" {
				_, err := r.options.Events.Remove(t.Context(), "m1")
				require.NoError(t, err)
				first, cursor = read("?limit=3")
				rest, _ = read("?limit=7&cursor=" + cursor)
				require.Equal(t, []string{"default", "m0", "m2", "m3", "m4", "m5"}, append(first, rest...))
			}

			for query, says := range map[string]string{
				"?limit=1001": "1 to 1000", "?limit=0": "1 to 1000", "?cursor=x": "next_cursor", "?cursor=": "next_cursor",
				"?cursor=eyJ0IjoxLCJpIjoiYSJ9": "next_cursor", // of a list of messages
			} {
				require.Contains(t, r.problem(http.StatusUnprocessableEntity, r.get("/v1/"+name+query)).Detail, says)
			}
		})
	}
}

// By default a page has 100 entries.
func TestAPageOfAccounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 101 {
		r.store.HSet("sl:{accounts}:accounts", fmt.Sprintf("a%03d", i), `{"created_at":1}`)
	}
	page := into[message.Accounts](t, http.StatusOK, r.get("/v1/accounts"))
	require.Len(t, page.Accounts, 100)
	// An account that can't be read is in the way of its own page only.
	r.store.HSet("sl:{accounts}:accounts", "a001", `{`)
	r.problem(http.StatusServiceUnavailable, r.get("/v1/accounts"))
	require.Len(t, into[message.Accounts](t, http.StatusOK, r.get("/v1/accounts?cursor="+page.NextCursor)).Accounts, 1)
}

func TestParametersThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cursor := into[message.Messages](t, http.StatusOK, r.get("/v1/users/alice/messages")).NextCursor
	require.Empty(t, cursor)
	for _, wrong := range []struct{ target, field, says string }{
		{"/v1/users/alice/messages?limit=0", "limit", "1 to 1000"},
		{"/v1/users/alice/messages?limit=1001", "limit", "1 to 1000"},
		{"/v1/users/alice/messages?limit=ten", "limit", "1 to 1000"},
		{"/v1/users/alice/messages?limit=", "limit", "1 to 1000"},
		{"/v1/users/alice/messages?form=now", "form", "there are from, until, limit, cursor"},
		{"/v1/users/alice/messages?limit=1&limit=2", "limit", "give it once"},
		{"/v1/dead-letters?user=alice&us%65r=alice", "user", "give it once"},
		{"/v1/users/alice/messages?cursor=x", "cursor", "next_cursor"},
		{"/v1/users/alice/messages?cursor=eyJ0IjoxLCJpIjoiYSIsInUiOiJiIn0", "cursor", "next_cursor"}, // of another list
		{"/v1/users/alice/messages?from=tomorrow", "from", "RFC 3339"},
		{"/v1/users/alice/messages?from=2026-11-22T11:11:11+01:00", "from", "a + is written %2B"},
		{"/v1/users/alice/messages?from=" + on22("12:00:00") + "&until=" + on22("11:00:00"), "until", "after from"},
		{"/v1/users/alice/usage?from=2026-01-01T00:00:00Z&until=2026-12-01T00:00:00Z", "until", "32 days"},
		{"/v1/users/alice/next-free?count=101", "count", "1 to 100"},
		{"/v1/users/alice/messages/a%2Fb", "id", "A-Z"},
		{"/v1/dead-letters?user=", "user", "1 to 256 bytes"},
		{"/v1/dead-letters?reason=%0A", "reason", "a reason such as unavailable"},
		{"/v1/dead-letters?reason=", "reason", "has no value"},
		{"/v1/dead-letters?account=A", "account", "1 to 64"},
		{"/v1/dead-letters?campaign=a%20b", "campaign", "1 to 64"},
		{"/v1/users/alice/dead-letters/a?content=yes", "content", "true or false"},
		{"/v1/stats?user=alice", "user", "this address has none"},
	} {
		p := r.problem(http.StatusUnprocessableEntity, r.get(wrong.target))
		require.Equal(t, fault.CodeInvalidField, p.Code)
		require.Equal(t, wrong.field, p.Field, wrong.target)
		require.Contains(t, p.Detail, wrong.says, wrong.target)
	}
}

// A retry of all dead letters, page by page, does not retry a message that fails meanwhile.
func TestDeadLettersAreRetriedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := now()
	for _, id := range []string{"a", "b", "c"} {
		r.store.SetTime(at)
		r.fails(id)
		at = at.Add(5 * time.Second)
	}
	r.store.SetTime(at)
	var retried []string
	for path := deadLettersPath + "/retry?limit=1"; path != ""; {
		page := into[message.DeadRetry](t, http.StatusOK, r.post(path, ""))
		for _, o := range page.Outcomes {
			retried = append(retried, o.ID)
		}
		if len(retried) == 1 {
			at = at.Add(5 * time.Second)
			r.store.SetTime(at)
			r.settles("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
			r.store.SetTime(at.Add(5 * time.Second))
		}
		path = ""
		if page.NextCursor != "" {
			path = deadLettersPath + "/retry?limit=1&cursor=" + page.NextCursor
		}
	}
	require.Equal(t, []string{"a", "b", "c"}, retried)
}

// Bodies are read as on every surface, and invalid ones are named.
func TestBodiesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, wrong := range []struct {
		body   string
		status int
		field  string
	}{
		{"{", http.StatusBadRequest, "body"},
		{"[]", http.StatusUnprocessableEntity, "message"},
		{"null", http.StatusUnprocessableEntity, "message"},
		{`{"user":"alice","send_at":"now","title":"Hi","when":1}`, http.StatusUnprocessableEntity, "when"},
		{`{"user":"alice","send_at":"now","Title":"Hi"}`, http.StatusUnprocessableEntity, "Title"},
		{`{"user":"alice","send_at":7,"title":"Hi"}`, http.StatusUnprocessableEntity, "send_at"},
		{`{"user":"alice","id":"","send_at":"now","title":"Hi"}`, http.StatusUnprocessableEntity, "id"},
		{`{"user":"alice","send_at":"now","title":"` + strings.Repeat("x", 5000) + `"}`, http.StatusUnprocessableEntity, "body"},
	} {
		require.Equal(t, wrong.field, r.problem(wrong.status, r.post("/v1/messages", wrong.body)).Field, wrong.body)
	}
	for target, contentType := range map[string]string{messagesPath: "application/json", batchPath: "application/x-ndjson"} {
		for name, value := range map[string]string{"Content-Type": "text/plain", "Content-Encoding": "gzip"} {
			header := http.Header{"Content-Type": {contentType}}
			header.Set(name, value)
			p := r.problem(http.StatusUnsupportedMediaType, r.send(request{http.MethodPost, target, "{}", header}))
			require.Equal(t, name, p.Field, target)
		}
	}
	for _, contentType := range []string{"application/jsonl", "application/x-ndjson; charset=utf-8"} {
		lines := request{http.MethodPost, batchPath, "{}", http.Header{"Content-Type": {contentType}}}
		require.Equal(t, message.Invalid, into[message.Outcome](t, http.StatusOK, r.send(lines)).Outcome)
	}
	p := r.problem(http.StatusRequestEntityTooLarge, r.post("/v1/messages", strings.Repeat(" ", api.DefaultBody)+"{}"))
	require.Contains(t, p.Detail, "65536 bytes")
	moved := r.send(request{http.MethodPatch, "/v1/users/alice/messages/a", `{"send_at":"now","user":"bob"}`, nil})
	require.Contains(t, r.problem(http.StatusUnprocessableEntity, moved).Detail, `unknown field "user": the nearest of 18 are`)
}

// A store that is full takes nothing more, and is asked again later.
func TestStoreFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	booked(r)
	r.store.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	got := r.post("/v1/messages", `{"user":"alice","send_at":"`+on22("15:00:00")+`","title":"Hi"}`)
	require.Equal(t, fault.CodeStoreFull, r.problem(http.StatusServiceUnavailable, got).Code)
	require.Equal(t, "1", got.header.Get("Retry-After"))

	r = newRig(t)
	r.store.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command != "INFO" {
			return false
		}
		peer.WriteBulk("used_memory:85\r\nmaxmemory:100\r\n")
		return true
	})
	require.Equal(t, fault.CodeStoreFull, r.problem(http.StatusServiceUnavailable, r.post(aliceDevices, canaryPhone)).Code)
	registered, err := r.options.Devices.List(t.Context(), "alice")
	require.NoError(t, err)
	require.Empty(t, registered)
}

// A store that may delete what it accepts takes nothing.
func TestStoreUnfit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command != "INFO" {
			return false
		}
		peer.WriteBulk("used_memory:1\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n")
		return true
	})
	got := r.post("/v1/messages", `{"user":"alice","send_at":"`+on22("15:00:00")+`","title":"Hi"}`)
	problem := r.problem(http.StatusServiceUnavailable, got)
	require.Equal(t, fault.CodeStoreUnfit, problem.Code)
	require.Contains(t, problem.Detail, "set it to noeviction", "an operator asks, without a key")
	require.Equal(t, "1", got.header.Get("Retry-After"))
}
