package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// vip is a policy that has everything.
func vip() client.Policy {
	return client.Policy{
		Name: "vip", TimeZone: "Europe/Berlin", UserTimeZone: true, Rules: []string{"3/minute", "20/calendar_day"},
		QuietHours: []string{"22:00-08:00"}, Reach: "30d", OnConflict: client.OnConflictShift, AlertAt: []int{}, AlertTo: "ops@acme.example",
		Categories: map[string]client.PolicyCategory{
			"marketing": {Rules: []string{"2/calendar_day"}, Throttle: "1/minute"}, "codes": {Exempt: true, Counts: new(bool)},
		},
	}
}

// isRefused requires that a change was refused for its version.
func isRefused(t *testing.T, err error, code client.Code) {
	t.Helper()
	var refusal *client.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, code, refusal.Code)
	require.NotEmpty(t, refusal.RequestID)
}

// isInvalid requires that a field was found wrong.
func isInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var wrong *client.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, field, wrong.Field)
}

func TestPoliciesOfTheRealAPI(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	_, err := a.Policy(ctx, "vip")
	require.ErrorIs(t, err, client.ErrNotFound)

	want := vip()
	want.Version, want.UnknownCategories = 1, "refuse"
	change, err := a.ApplyPolicy(ctx, vip(), client.IfNone())
	require.NoError(t, err)
	require.Equal(t, client.PolicyChange{New: want, Changed: true}, change)
	stored, err := a.Policy(ctx, "vip")
	require.NoError(t, err)
	require.Equal(t, want, stored)
	change, err = a.ApplyPolicy(ctx, stored, client.Condition{})
	require.NoError(t, err)
	require.Equal(t, client.PolicyChange{Old: &want, New: want}, change)

	next := client.Policy{Name: "vip", Rules: []string{"1/hour"}}
	change, err = a.ApplyPolicy(ctx, next, client.IfVersion(stored.Version))
	require.NoError(t, err)
	next.Version, next.TimeZone, next.OnConflict, next.AlertAt = 2, "UTC", client.OnConflictRefuse, []int{80, 100}
	require.Equal(t, client.PolicyChange{Old: &want, New: next, Changed: true}, change, "what is left out is as usual")
	for _, outdated := range []client.Condition{client.IfVersion(stored.Version), client.IfVersion[int64](0), client.IfNone()} {
		_, err = a.ApplyPolicy(ctx, vip(), outdated)
		isRefused(t, err, client.CodeVersionMismatch)
	}
	_, err = a.ApplyPolicy(ctx, client.Policy{Name: "none", Rules: []string{"1/hour"}}, client.IfExists())
	isRefused(t, err, client.CodeVersionMismatch)
	_, err = a.ApplyPolicy(ctx, next, client.IfExists())
	require.NoError(t, err)
	all := listed(t, a.Policies(ctx, client.PageRequest{PageSize: 1}))
	require.Len(t, all, 2)
	require.Equal(t, []any{"default", client.ListedPolicy{Policy: next}}, []any{all[0].Name, all[1]})

	require.NoError(t, a.redis.Set("sl:policy:default", `{"name":"default","rules":["1/eon"]}`))
	all = listed(t, a.Policies(ctx, client.PageRequest{}))
	require.Equal(t, []client.ListedPolicy{{Policy: client.Policy{Name: "default"}, Unreadable: true}, {Policy: next}}, all)
}

func TestPoliciesThatTheRealAPIFindsWrong(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	for _, row := range []struct {
		p     client.Policy
		only  []client.Condition
		field string
	}{
		{client.Policy{Rules: []string{"1/day"}}, nil, "name"},
		{client.Policy{Name: "VIP", Rules: []string{"1/day"}}, nil, "policy"},
		{client.Policy{Name: "..", Rules: []string{"1/day"}}, nil, "policy"},
		{client.Policy{Name: "vip"}, nil, "rules"},
		{client.Policy{Name: "vip", Rules: []string{"often"}}, nil, "rules"},
		{client.Policy{Name: "vip", Rules: []string{"1/day"}, QuietHours: []string{"00:00-24:00"}}, nil, "quiet_hours"},
		{vip(), []client.Condition{client.IfVersion("")}, "If-Match"},
		{vip(), []client.Condition{client.IfVersion("\"\r\n")}, "If-Match"},
		{vip(), []client.Condition{client.IfVersion("1"), client.IfNone()}, "If-None-Match"},
	} {
		_, err := a.ApplyPolicy(t.Context(), row.p, row.only...)
		isInvalid(t, err, row.field)
	}
	_, err := a.ApplyPolicy(t.Context(), vip(), client.IfVersion("1"), client.IfVersion("2"))
	var refused *client.Refusal
	require.ErrorAs(t, err, &refused, "of several versions one must be there")
	require.Equal(t, client.CodeVersionMismatch, refused.Code)
	_, err = a.Policy(t.Context(), "")
	isInvalid(t, err, "name")
	_, err = a.Policy(t.Context(), "vip")
	require.ErrorIs(t, err, client.ErrNotFound, "nothing was applied")
}

// A policy is sent again like a message.
func TestAPolicyWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	var requests counted
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if requests.next() == 1 {
			cutAfter(t, w, "")
			return
		}
		if r.Header.Get("If-Match") != `"7"` || r.Header.Get("Content-Type") != plainJSON {
			t.Errorf("%v", r.Header)
		}
		reply(w, plainJSON, http.StatusOK, `{"new":{"name":"vip","rules":["1/day"],"version":8},"changed":true}`)
	})
	change, err := c.ApplyPolicy(t.Context(), vip(), client.IfVersion[int64](7))
	require.NoError(t, err)
	require.Equal(t, int64(8), change.New.Version)
	require.EqualValues(t, 2, requests.Load())
}

// A policy is deleted, listed with its former versions, and brought back; users who have
// it are found.
func TestDeletedPoliciesOfTheRealAPI(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	_, err := a.DeletePolicy(ctx, "vip")
	require.ErrorIs(t, err, client.ErrNotFound)
	for _, rule := range []string{"1/hour", "2/hour"} {
		_, err = a.ApplyPolicy(ctx, client.Policy{Name: "vip", Rules: []string{rule}})
		require.NoError(t, err)
	}
	for _, user := range []string{"alice", "bob"} {
		_, err = a.SetUserSettings(ctx, user, client.Settings{Policy: "vip", Blocked: user == "bob"})
		require.NoError(t, err)
	}
	_, err = a.SetUserSettings(ctx, "carol", client.Settings{Blocked: true})
	require.NoError(t, err)
	list := func(r client.UsersRequest) (names []string) {
		for _, u := range listed(t, a.Users(ctx, r)) {
			names = append(names, u.User)
		}
		return names
	}
	require.ElementsMatch(t, []string{"alice", "bob", "carol"}, list(client.UsersRequest{PageSize: 1}))
	require.ElementsMatch(t, []string{"bob", "carol"}, list(client.UsersRequest{Blocked: true}))
	require.Equal(t, []string{"bob"}, list(client.UsersRequest{Blocked: true, Policy: "vip"}))
	require.Equal(t, []client.ListedUser{{User: "bob", Policy: "vip", Blocked: true}}, listed(t, a.Users(ctx, client.UsersRequest{Blocked: true, Policy: "vip"})))
	_, err = a.DeletePolicy(ctx, "vip")
	isRefused(t, err, client.CodePolicyInUse)
	require.ErrorContains(t, err, "policy vip is in use: 2 users have it, ")
	for _, user := range []string{"alice", "bob"} {
		_, err = a.ClearUserSettings(ctx, user)
		require.NoError(t, err)
	}
	_, err = a.DeletePolicy(ctx, "vip", client.IfVersion(int64(1)))
	isRefused(t, err, client.CodeVersionMismatch)
	_, err = a.DeletePolicy(ctx, "vip", client.IfVersion(int64(2)))
	require.NoError(t, err)
	_, err = a.SetUserSettings(ctx, "alice", client.Settings{Policy: "vip"})
	isInvalid(t, err, "policy")
	_, err = a.Policy(ctx, "vip")
	require.ErrorIs(t, err, client.ErrNotFound)

	versions, err := a.PolicyVersions(ctx, "vip")
	require.NoError(t, err)
	require.Len(t, versions, 3)
	require.True(t, versions[0].Deleted)
	require.Equal(t, []string{"1/hour"}, versions[2].Policy.Rules)
	require.NotEmpty(t, versions[2].By)
	_, err = a.RollbackPolicy(ctx, "vip", 9)
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = a.RollbackPolicy(ctx, "vip", 0)
	isInvalid(t, err, "version")
	change, err := a.RollbackPolicy(ctx, "vip", 1, client.IfNone())
	require.NoError(t, err)
	require.Equal(t, int64(4), change.New.Version)
	require.Equal(t, []string{"1/hour"}, change.New.Rules)
	_, err = a.SetUserSettings(ctx, "alice", client.Settings{Policy: "vip"})
	require.NoError(t, err)
}
