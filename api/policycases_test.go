package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const (
	vipPath       = "/v1/policies/vip"
	defaultPath   = "/v1/policies/default"
	aliceSettings = "/v1/users/alice/settings"
)

func (r *rig) applies(d policy.Document) {
	r.Helper()
	p, err := d.Policy()
	require.NoError(r, err)
	require.NoError(r, r.options.Policies.Apply(r.Context(), p))
}

// vip has a policy of everything beside the default one.
func vip(r *rig) {
	r.applies(policy.Document{
		Name: "vip", TimeZone: "Europe/Berlin", UserTimeZone: true, Rules: []string{"3/minute", "20/calendar_day"},
		QuietHours: []string{"22:00-08:00"}, Reach: "30d", OnConflict: "shift", AlertAt: []int{50}, AlertTo: "ops@acme.example",
		Categories: map[string]policy.CategoryDocument{
			"marketing": {Rules: []string{"2/calendar_day"}}, "codes": {Exempt: true, Counts: new(bool)},
		},
	})
}

// vipTwice has a second version of vip.
func vipTwice(r *rig) {
	vip(r)
	r.applies(policy.Document{Name: "vip", Rules: []string{"4/minute"}})
}

// quiet has nobody get anything at night, and little marketing.
func quiet(r *rig) {
	r.applies(policy.Document{
		Name: "default", Rules: []string{"1/minute"}, QuietHours: []string{"22:00-08:00"},
		Categories: map[string]policy.CategoryDocument{"marketing": {Rules: []string{"1/calendar_day"}}},
	})
}

// strict has two messages to alice on a day that has room for one.
func strict(r *rig) {
	booked(r)
	r.applies(policy.Document{Name: "default", Rules: []string{"1/calendar_day"}})
}

// sets changes a user's own settings.
func (r *rig) sets(user string, s policy.UserSettings) {
	r.Helper()
	require.NoError(r, r.options.Users.Set(r.Context(), user, s))
}

func blocked(r *rig) { r.sets("alice", policy.UserSettings{Blocked: true}) }

func undisturbed(r *rig) {
	r.sets("alice", policy.UserSettings{DoNotDisturbUntil: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)})
}

// refitting has another caller refit the messages that do not fit the default policy.
func refitting(r *rig) {
	strict(r)
	p, _, err := r.options.Policies.Load(r.Context(), "default")
	require.NoError(r, err)
	job := turn.NewJob(r.client, keyspace.KeysUnder(keyspace.DefaultPrefix).Turn(keyspace.RefitWork("default")), fmt.Sprintf("%d cancel", p.Version))
	_, taken, _, err := job.Take(r.Context(), 100*time.Millisecond) // for ever, on the store's clock
	require.NoError(r, err)
	require.True(r, taken)
}

func policyCases() []contractCase {
	get := func(target string) request { return request{method: http.MethodGet, target: target} }
	put := func(body, ifMatch string) request {
		q := request{method: http.MethodPut, target: vipPath, body: body}
		if ifMatch != "" {
			q.header = http.Header{"Content-Type": {"application/json"}, "If-Match": {ifMatch}}
		}
		return q
	}
	del := func(target, ifMatch string) request {
		q := request{method: http.MethodDelete, target: target}
		if ifMatch != "" {
			q.header = http.Header{"If-Match": {ifMatch}}
		}
		return q
	}
	vipUser := func(r *rig) {
		vip(r)
		r.sets("alice", policy.UserSettings{Policy: "vip", TimeZone: "Asia/Tokyo", Blocked: true})
	}
	post := func(target, body string) request { return request{method: http.MethodPost, target: target, body: body} }
	late := `{"user":"alice","send_at":"` + on22("23:00:00") + `","title":"Hi"}`
	second := request{method: http.MethodPost, target: messagesPath, body: `{"user":"alice","category":"marketing","send_at":"` + on22("12:00:00") + `","title":"Hi"}`}
	return []contractCase{
		{"all", http.MethodGet, "/v1/policies", http.StatusOK, on(vip, get("/v1/policies"))},
		{"shown", http.MethodGet, policyPath, http.StatusOK, on(vip, get(vipPath))},
		{"known", http.MethodGet, policyPath, http.StatusNotModified, on(vip, request{
			method: http.MethodGet, target: vipPath, header: http.Header{"If-None-Match": {`"1"`}},
		})},
		{"none", http.MethodGet, policyPath, http.StatusNotFound, on(nothing, get(vipPath))},
		{"made", http.MethodPut, policyPath, http.StatusOK, on(nothing, put(`{"rules":["1/minute"],"categories":{"codes":{"exempt":true,"counts":false}}}`, ""))},
		{"replaced", http.MethodPut, policyPath, http.StatusOK, on(vip, put(`{"rules":["1/minute"]}`, `"1"`))},
		{"another version", http.MethodPut, policyPath, http.StatusPreconditionFailed, on(vip, put(`{"rules":["1/minute"]}`, `"2"`))},
		{"deleted", http.MethodDelete, policyPath, http.StatusOK, on(vip, del(vipPath, ""))},
		{"none", http.MethodDelete, policyPath, http.StatusNotFound, on(nothing, del(vipPath, ""))},
		{"another version", http.MethodDelete, policyPath, http.StatusPreconditionFailed, on(vip, del(vipPath, `"2"`))},
		{"in use", http.MethodDelete, policyPath, http.StatusConflict, on(vipUser, del(vipPath, ""))},
		{"the default one", http.MethodDelete, policyPath, http.StatusUnprocessableEntity, on(vip, del(defaultPath, ""))},
		{"listed", http.MethodGet, policyPath + "/versions", http.StatusOK, on(vip, get(vipPath+"/versions"))},
		{"none", http.MethodGet, policyPath + "/versions", http.StatusNotFound, on(nothing, get(vipPath+"/versions"))},
		{"rolled back", http.MethodPost, policyPath + "/rollback", http.StatusOK, on(vip, post(vipPath+"/rollback", `{"version":1}`))},
		{"no version", http.MethodPost, policyPath + "/rollback", http.StatusNotFound, on(vip, post(vipPath+"/rollback", `{"version":7}`))},
		{"version 0", http.MethodPost, policyPath + "/rollback", http.StatusUnprocessableEntity, on(vip, post(vipPath+"/rollback", `{}`))},
		{"another version", http.MethodPost, policyPath + "/rollback", http.StatusPreconditionFailed, on(vipTwice, request{
			method: http.MethodPost, target: vipPath + "/rollback", body: `{"version":1}`,
			header: http.Header{"Content-Type": {"application/json"}, "If-Match": {`"1"`}},
		})},
		{"listed", http.MethodGet, "/v1/users", http.StatusOK, on(vipUser, get("/v1/users?policy=vip"))},
		{"dry_run", http.MethodPost, policyPath + "/dry-run", http.StatusOK, on(booked, post(defaultPath+"/dry-run", `{"rules":["1/calendar_day"]}`))},
		{"in quiet hours", http.MethodPost, policyPath + "/dry-run", http.StatusOK, on(booked, post(defaultPath+"/dry-run",
			`{"rules":["1/minute"],"quiet_hours":["11:00-12:00"]}`))},
		{"shifted", http.MethodPost, policyPath + "/refit", http.StatusOK, on(strict, post(defaultPath+"/refit?then=shift", ""))},
		{"cancelled", http.MethodPost, policyPath + "/refit", http.StatusOK, on(strict, post(defaultPath+"/refit?then=cancel", ""))},
		{"kept", http.MethodPost, policyPath + "/refit", http.StatusUnprocessableEntity, on(strict, post(defaultPath+"/refit?then=keep", ""))},
		{"none", http.MethodPost, policyPath + "/refit", http.StatusNotFound, on(nothing, post(vipPath+"/refit?then=shift", ""))},
		{"running", http.MethodPost, policyPath + "/refit", http.StatusConflict, on(refitting, post(defaultPath+"/refit?then=cancel", ""))},

		{"quiet hours", http.MethodPost, messagesPath, http.StatusConflict, on(quiet, post(messagesPath, late))},
		{"do not disturb", http.MethodPost, messagesPath, http.StatusConflict, on(undisturbed, post(messagesPath, late))},
		{"blocked", http.MethodPost, messagesPath, http.StatusForbidden, on(blocked, post(messagesPath, late))},
		{"rule of a category", http.MethodPost, messagesPath, http.StatusConflict, func(t *testing.T) reply {
			t.Helper()
			r := newRig(t)
			quiet(r)
			r.accepted(`{"user":"alice","category":"marketing","send_at":"` + on22("11:00:00") + `","title":"Hi"}`)
			return r.send(second)
		}},
		{
			"of a category", http.MethodGet, "/v1/users/{user}/usage", http.StatusOK,
			on(quiet, get("/v1/users/alice/usage?category=marketing&at="+on22("11:00:00"))),
		},
		{
			"of a category", http.MethodGet, "/v1/users/{user}/next-free", http.StatusOK,
			on(quiet, get("/v1/users/alice/next-free?category=marketing&count=2&from="+on22("21:59:59"))),
		},
	}
}

func settingsCases() []contractCase {
	with := func(method, body, ifMatch string) request {
		q := request{method: method, target: aliceSettings, body: body, header: http.Header{}}
		if body != "" {
			q.header.Set("Content-Type", "application/json")
		}
		if ifMatch != "" {
			q.header.Set("If-Match", ifMatch)
		}
		return q
	}
	full := `{"contact":"ada@example.org","policy":"vip","limits":["30/calendar_day"],"time_zone":"Europe/Berlin","blocked":true}`
	unclear := func(r *rig) { r.sets("alice", policy.UserSettings{Policy: "gone"}) }
	stale := func(r *rig) {
		vip(r)
		r.sets("alice", policy.UserSettings{Policy: "vip", Limits: []policy.Rule{{Limit: 5, Window: time.Hour}}})
	}
	return []contractCase{
		{"known", http.MethodGet, settingsPath, http.StatusNotModified, on(nothing, request{
			method: http.MethodGet, target: aliceSettings, header: http.Header{"If-None-Match": {`"0"`}},
		})},
		{"nothing", http.MethodGet, settingsPath, http.StatusOK, on(nothing, with(http.MethodGet, "", ""))},
		{"no such policy", http.MethodGet, settingsPath, http.StatusOK, on(unclear, with(http.MethodGet, "", ""))},
		{"without effect", http.MethodGet, settingsPath, http.StatusOK, on(stale, with(http.MethodGet, "", ""))},
		{"set", http.MethodPut, settingsPath, http.StatusOK, on(vip, with(http.MethodPut, full, `"0"`))},
		{"no version", http.MethodPut, settingsPath, http.StatusPreconditionFailed, on(vip, with(http.MethodPut, full, `"x"`))},
		{"another version", http.MethodPut, settingsPath, http.StatusPreconditionFailed, on(blocked, with(http.MethodPut, full, `"x"`))},
		{"changed", http.MethodPatch, settingsPath, http.StatusOK, on(blocked, with(http.MethodPatch, `{"blocked":null,"limits":["20/calendar_day"]}`, ""))},
		{"another version", http.MethodPatch, settingsPath, http.StatusPreconditionFailed, on(blocked, with(http.MethodPatch, `{"blocked":null}`, `"x"`))},
		{"cleared", http.MethodDelete, settingsPath, http.StatusOK, on(blocked, with(http.MethodDelete, "", ""))},
		{"another version", http.MethodDelete, settingsPath, http.StatusPreconditionFailed, on(blocked, with(http.MethodDelete, "", `"x"`))},
	}
}
