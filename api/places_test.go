package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// newPlacesRig serves a store in which a user may have only so many messages in a day.
func newPlacesRig(t *testing.T, most int, options ...func(*api.Options)) *rig {
	t.Helper()
	r := newRig(t)
	submitter, err := submit.New(taskstest.Open(t, r.client, backend.Options{PlacesPerDay: most}), submit.Options{})
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
