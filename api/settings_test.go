package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// A user's settings in short, as they are answered.
func (r *rig) settings(got reply) string {
	r.Helper()
	s := into[message.UserSettings](r, http.StatusOK, got)
	text := fmt.Sprintf("%s|%s|%s|%v", s.Contact, s.Policy, s.TimeZone, s.Limits)
	if s.Blocked {
		text += "|blocked"
	}
	if until := s.DoNotDisturbUntil; !until.IsZero() {
		text += "|until " + message.SpelledTime(until.Time)
	}
	require.Equal(r, got.header.Get("ETag"), r.get(aliceSettings).header.Get("ETag"))
	return text
}

func TestSettingsAreSetChangedAndCleared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	for i, step := range []struct{ method, body, want string }{
		{http.MethodPatch, `{"contact":"ada@example.org"}`, "ada@example.org|||[]"},
		{http.MethodPatch, `{"policy":"vip","limits":["30/calendar_day","5/minute"]}`, "ada@example.org|vip||[30/calendar_day 5/minute]"},
		{http.MethodPatch, `{"time_zone":"Asia/Tokyo","limits":["40/calendar_day"]}`, "ada@example.org|vip|Asia/Tokyo|[40/calendar_day]"},
		{http.MethodPatch, `{}`, "ada@example.org|vip|Asia/Tokyo|[40/calendar_day]"},
		{http.MethodPatch, `{"contact":null,"blocked":true}`, "|vip|Asia/Tokyo|[40/calendar_day]|blocked"},
		{http.MethodPatch, `{"limits":null,"blocked":null,"time_zone":""}`, "|vip||[]"},
		{http.MethodPut, `{"contact":"bob@example.org"}`, "bob@example.org|||[]"},
		{http.MethodPut, `{}`, "|||[]"},
		{http.MethodPut, `{"policy":"vip","limits":["9/minute"],"blocked":true}`, "|vip||[9/minute]|blocked"},
		{http.MethodPatch, `{"do_not_disturb_until":"2027-06-22T09:00:00.0005+02:00"}`, "|vip||[9/minute]|blocked|until 2027-06-22T07:00:00.000Z"},
		{http.MethodPatch, `{"blocked":false}`, "|vip||[9/minute]|until 2027-06-22T07:00:00.000Z"},
		{http.MethodPatch, `{"do_not_disturb_until":""}`, "|vip||[9/minute]"},
		{http.MethodDelete, "", "|||[]"},
	} {
		require.Equal(t, step.want, r.settings(r.send(conditional(step.method, aliceSettings, step.body, ""))), i)
	}
	require.Equal(t, `"0"`, r.get(aliceSettings).header.Get("ETag"))
}

// The answer has the user's effective rules, and their sources.
func TestEffectiveRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	got := r.send(conditional(http.MethodPut, aliceSettings, `{"policy":"vip","limits":["30/calendar_day"],"time_zone":"Asia/Tokyo",
		"categories":{"marketing":["1/calendar_day","3/calendar_week"]},"opt_out":["news"],"quiet_hours":["12:00-13:00"]}`, ""))
	require.Equal(t, http.StatusOK, got.status)
	require.JSONEq(t, `{
		"user":"alice", "contact":"", "policy":"vip", "limits":["30/calendar_day"], "time_zone":"Asia/Tokyo", "blocked":false,
		"categories":{"marketing":["1/calendar_day","3/calendar_week"]}, "opt_out":["news"], "quiet_hours":["12:00-13:00"],
		"effective":{
			"policy":"vip", "version":1, "time_zone":"Asia/Tokyo", "quiet_hours":["22:00-08:00","12:00-13:00"], "opt_out":["news"], "quiet_time_zone":"Asia/Tokyo",
			"rules":[
				{"rule":"3/minute","from":"policy"}, {"rule":"30/calendar_day","from":"user","replaces":"20/calendar_day"},
				{"rule":"1/calendar_day","category":"marketing","from":"user","replaces":"2/calendar_day"},
				{"rule":"3/calendar_week","category":"marketing","from":"user"}
			],
			"exempt":[{"category":"codes","counts":false}]
		}}`, string(got.body))
}

func TestSettingsUnderACondition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	send := func(method, body, condition string) reply {
		return r.send(conditional(method, aliceSettings, body, condition))
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		require.Equal(t, http.StatusPreconditionFailed, send(method, `{"blocked":true}`, `If-Match: "x"`).status)
		first := send(method, `{"blocked":true}`, "If-None-Match: *")
		require.Equal(t, http.StatusOK, first.status)
		version := "If-Match: " + first.header.Get("ETag")
		again := send(method, `{"contact":"ada@example.org"}`, "If-None-Match: *")
		p := r.problem(http.StatusPreconditionFailed, again)
		require.Equal(t, []string{"version_mismatch", first.header.Get("ETag")}, []string{string(p.Code), again.header.Get("ETag")})

		second := send(method, `{"contact":"ada@example.org"}`, version)
		require.Equal(t, http.StatusOK, second.status)
		require.NotEqual(t, first.header.Get("ETag"), second.header.Get("ETag"))
		require.Equal(t, http.StatusPreconditionFailed, send(method, `{"contact":""}`, version).status)
		require.Equal(t, http.StatusPreconditionFailed, send(http.MethodDelete, "", version).status)
		cleared := send(http.MethodDelete, "", "If-Match: "+second.header.Get("ETag"))
		require.Equal(t, http.StatusOK, cleared.status)
		require.Equal(t, `"0"`, cleared.header.Get("ETag"))
	}
	require.Equal(t, http.StatusPreconditionFailed, send(http.MethodPatch, `{"blocked":true}`, `If-Match: "x", "y"`).status)
	require.Equal(t, http.StatusOK, send(http.MethodPatch, `{}`, `If-Match: "x", "0"`).status)
	for _, wrong := range []string{`If-Match: *, "1"`, `If-Match: "*"`, "If-Match: x"} {
		require.Equal(t, "If-Match", r.problem(http.StatusUnprocessableEntity, send(http.MethodDelete, "", wrong)).Field)
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		none := r.problem(http.StatusPreconditionFailed, send(method, `{"blocked":true}`, "If-Match: *"))
		require.Equal(t, "nothing is set for the user", none.Detail)
		require.Equal(t, http.StatusOK, send(http.MethodPut, `{"contact":"ada@example.org"}`, "").status)
		require.Equal(t, http.StatusOK, send(method, `{"blocked":true}`, "If-Match: *").status)
		require.Equal(t, http.StatusOK, send(http.MethodDelete, "", "").status)
	}
}

func TestSettingsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vip(r)
	r.sets("alice", policy.UserSettings{Policy: "vip", Contact: "ada@example.org"})
	before := r.store.Dump()
	for _, wrong := range []struct{ body, field, says string }{
		{`{"policy":"gold"}`, "policy", `there is no policy "gold" that this program can read: there are default, vip`},
		{`{"policy":"vip","limits":["5/hour"]}`, "limits", "the limit 5/hour replaces no rule, as policy vip has no rule with this window: it has 3/minute, 20/calendar_day"},
		{`{"blocked":"yes"}`, "blocked", "true or false"},
		{`{"limits":"5/minute"}`, "limits", "a list"},
		{`{"limits":[5]}`, "limits", "it has to be"},
		{`{"contact":5}`, "contact", "a text"},
		{`{"then":"cancel"}`, "then", "keep, shift or drop"},
		{`{"block":true}`, "block", "the nearest of 12 are blocked, "},
		{`{"user":"alice"}`, "user", "unknown field"},
		{`[]`, "body", "a JSON object"},
	} {
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			p := r.problem(http.StatusUnprocessableEntity, r.send(conditional(method, aliceSettings, wrong.body, "")))
			require.Equal(t, wrong.field, p.Field, "%s %s", method, wrong.body)
			require.Contains(t, p.Detail, wrong.says, "%s %s", method, wrong.body)
		}
	}
	require.Equal(t, "user", r.problem(http.StatusUnprocessableEntity, r.get("/v1/users/%00/settings")).Field)
	require.Equal(t, apitest.WithoutLog(before), apitest.WithoutLog(r.store.Dump()))

	// A user with limits that the policy no longer has can still be blocked.
	r.applies(policy.Document{Name: "vip", Rules: []string{"1/hour"}})
	r.sets("alice", policy.UserSettings{Policy: "vip", Limits: []policy.Rule{{Limit: 5, Period: calendar.Day}}})
	got := into[message.UserSettings](t, http.StatusOK, r.send(conditional(http.MethodPatch, aliceSettings, `{"blocked":true}`, "")))
	require.True(t, got.Blocked)
	require.Equal(t, message.EffectiveRule{Rule: "5/calendar_day", From: message.FromUser}, got.Effective.Rules[1])
}

// The answer to a change counts the scheduled messages that do not fit, and says what became of them. A dry run
// lists them, and stores nothing. A contact has nothing to do with messages.
func TestAChangeOfSettingsCountsMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.accepted(`{"id":"a","user":"alice","send_at":"2026-11-22T13:00:00Z","title":"t"}`)
	change := func(body string) *message.FollowThrough {
		return into[message.UserSettings](t, http.StatusOK, r.send(conditional(http.MethodPatch, aliceSettings, body, ""))).Scheduled
	}
	looked := change(`{"quiet_hours":["12:30-14:00"],"then":"shift","dry_run":true}`)
	require.Equal(t, []any{1, 1, 0, "a"}, []any{looked.Affected, len(looked.Messages), looked.Moved, looked.Messages[0].ID})
	require.Equal(t, `"0"`, r.get(aliceSettings).header.Get("ETag"))
	require.Nil(t, change(`{"contact":"ada@example.org"}`))
	stays := change(`{"quiet_hours":["12:30-14:00"]}`)
	require.Equal(t, []any{"", 1, true}, []any{stays.Then, stays.Affected, stays.Complete})
	require.Contains(t, stays.Hint, "shift")
	require.Equal(t, &message.FollowThrough{Then: "keep", Affected: 1, Complete: true}, change(`{"then":"keep"}`))
	require.Equal(t, "keep", change(`{"contact":"bob@example.org"}`).Then)
	require.Equal(t, &message.FollowThrough{Then: "shift", Affected: 1, Moved: 1, Complete: true}, change(`{"then":"shift"}`))
	require.Equal(t, &message.FollowThrough{Then: "drop", Affected: 1, Dropped: 1, Complete: true}, change(`{"blocked":true,"then":"drop"}`))
}
