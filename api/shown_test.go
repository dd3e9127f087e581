package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// The answer has every given member unchanged, and equals the later reads.
func TestWhatIsSetIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	members := func(text []byte) map[string]any {
		var all map[string]any
		require.NoError(t, json.Unmarshal(text, &all), string(text))
		return all
	}
	for _, row := range []struct{ method, target, body, shown string }{
		{
			http.MethodPut, "/v1/tiers/free", `{"requests_per_minute":1,"requests_per_day":2,"lines_per_minute":3,"messages_per_hour":4,"messages_per_day":5,"alert_at":[50]}`,
			"/v1/tiers/free",
		},
		{
			http.MethodPost, "/v1/accounts", `{"name":"acme","tier":"free","contact":"ops@acme.example","time_zone":"Europe/Berlin","report_at":"08:00"}`,
			"/v1/accounts/acme",
		},
		{
			http.MethodPatch, "/v1/accounts/acme", `{"tier":"free","contact":"it@acme.example","time_zone":"Asia/Tokyo","report_at":"09:00","disabled":true}`,
			"/v1/accounts/acme",
		},
		{
			http.MethodPut, readLimits, `{"per_minute":1,"per_hour":2,"per_day":3,"time_zone":"Europe/Berlin","alert_at":[50],"alert_to":"ops@acme.example"}`,
			readLimits,
		},
	} {
		answer := r.send(request{method: row.method, target: row.target, body: row.body})
		require.Less(t, answer.status, http.StatusMultipleChoices, string(answer.body))
		got := members(answer.body)
		for name, value := range members([]byte(row.body)) {
			require.Equal(t, value, got[name], name)
		}
		shown := members(r.get(row.shown).body)
		delete(shown, "usage") // of an account, which only a look at it has
		require.Equal(t, got, shown)
	}
	const expires = "2027-01-01T00:00:00.000Z"
	made := r.post("/v1/accounts/acme/keys", `{"scopes":["read"],"expires_at":"`+expires+`"}`)
	key := into[message.NewAPIKey](t, http.StatusCreated, made).APIKey
	require.Equal(t, expires, key.ExpiresAt.Format(message.TimeLayout))
	require.Equal(t, []message.APIKey{key}, into[message.Account](t, http.StatusOK, r.get("/v1/accounts/acme")).Keys)
}

// The versions of a policy name their authors. The author of a rollback is its caller.
func TestVersionsOfAPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vipTwice(r)
	as := func(account, method, target, body string) reply {
		return r.with(r.key(account, accounts.ScopeAdmin), request{method: method, target: target, body: body})
	}
	change := into[message.PolicyChange](t, http.StatusOK, as("ada", http.MethodPost, vipPath+"/rollback", `{"version":1}`))
	require.Equal(t, []any{int64(3), 2}, []any{change.New.Version, len(change.New.Rules)})
	done := into[message.PolicyDeletion](t, http.StatusOK, as("bob", http.MethodDelete, vipPath, ""))
	require.Equal(t, message.PolicyDeletion{Outcome: message.PolicyDeleted, Policy: "vip"}, done)
	require.Equal(t, http.StatusOK, as("carol", http.MethodPut, vipPath, `{"rules":["9/minute"]}`).status)
	var said []string
	for _, v := range into[message.PolicyVersions](t, http.StatusOK, r.get(vipPath+"/versions")).Versions {
		require.False(t, v.At.IsZero())
		said = append(said, fmt.Sprintf("%d %s %t", v.Version, v.By, v.Deleted && v.Policy == nil))
	}
	slices.Sort(said)
	require.Equal(t, []string{"1  false", "2  false", "3 account ada false", "4 account bob true", "5 account carol false"}, said)

	r.store.HSet("sl:{policies}:stored", "default", `{"name":"default","rules":["1/eon"]}`)
	list := into[message.Policies](t, http.StatusOK, r.get("/v1/policies"))
	require.Equal(t, []string{"default"}, list.Unreadable)
	require.Len(t, list.Policies, 1)
}

// Users with settings are listed page by page, all of them or those of a policy that are blocked.
func TestUsersAreListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	r.sets("alice", policy.UserSettings{Policy: "vip"})
	r.sets("bob", policy.UserSettings{Policy: "vip", Blocked: true})
	r.sets("carol", policy.UserSettings{Blocked: true})
	for query, want := range map[string][]string{
		"": {"alice", "bob", "carol"}, "&blocked=true": {"bob", "carol"}, "&policy=vip": {"alice", "bob"}, "&policy=vip&blocked=true": {"bob"},
	} {
		var users []string
		all := pagesOf(r, "/v1/users?limit=1"+query, func(page message.Users) ([]message.ListedUser, string) { return page.Users, page.NextCursor })
		for _, u := range all {
			users = append(users, u.User)
		}
		slices.Sort(users)
		require.Equal(t, want, users, query)
	}
}

// A caller who sets another account's callback gets the metadata of its messages. That needs the
// scope content, and is logged.
func TestACallbackShowsMetadata(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	log, err := audit.New(r.client, audit.Options{})
	require.NoError(t, err)
	_, err = r.accounts.Create(t.Context(), accounts.Account{Name: "acme"})
	require.NoError(t, err)
	set := request{method: http.MethodPut, target: "/v1/accounts/acme/callback", body: `{"url":"https://example.com/secret-path"}`}
	admin := r.key("op", accounts.ScopeAdmin)
	require.Contains(t, r.problem(http.StatusForbidden, r.with(admin, set)).Detail, "content")
	entries, _, err := log.Page(t.Context(), audit.Filter{}, "", 10)
	require.NoError(t, err)
	require.Empty(t, entries)
	support := r.key("op", accounts.ScopeAdmin, accounts.ScopeContent)
	require.Equal(t, http.StatusOK, r.with(support, set).status)
	entries, _, err = log.Page(t.Context(), audit.Filter{}, "", 10)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, []string{"op", support[3:11], "127.0.0.1", "set callback", "acme", "to example.com", audit.Done},
		[]string{entries[0].Account, entries[0].Key, entries[0].Address, entries[0].Action, entries[0].Object, entries[0].Detail, entries[0].Outcome})
	own := r.key("acme", accounts.ScopeAdmin)
	require.Equal(t, http.StatusOK, r.with(own, set).status)
	require.Equal(t, http.StatusOK, r.with(admin, request{method: http.MethodPost, target: set.target + "/rotate", body: "{}"}).status)
	require.Equal(t, http.StatusOK, r.with(admin, request{method: http.MethodDelete, target: set.target}).status)
	entries, _, err = log.Page(t.Context(), audit.Filter{}, "", 10)
	require.NoError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	require.Equal(t, []string{"remove callback", "rotate callback secret", "set callback", "set callback"}, actions)
}

// The overview and the forecast are those of the dashboard.
func TestOverviewAndForecast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails("given-up")
	r.accepted(`{"user":"bob","send_at":"` + on22("11:30:00") + `","title":"Hi"}`)
	o := into[message.Overview](t, http.StatusOK, r.get("/v1/overview"))
	require.Equal(t, []any{1, 60, 0, ""}, []any{o.DeadLetters, len(o.Minutes), len(o.Workers), o.Unread})
	var f message.Forecast
	require.Eventually(t, func() bool {
		f = into[message.Forecast](t, http.StatusOK, r.get("/v1/forecast"))
		return !f.LaterCountedAt.IsZero() // the message is due in more than a day
	}, 10*time.Second, 50*time.Millisecond, "it is counted for who looks")
	sum := 0
	for _, n := range f.Hours {
		sum += n
	}
	for _, hour := range f.Later {
		sum += hour.Count
	}
	require.Equal(t, []int{1, 0, 1}, []int{f.Pending, f.Overdue, sum})
}
