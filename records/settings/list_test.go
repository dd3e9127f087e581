package settings_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The lists agree with a plain model after any changes, whatever the size of the pages.
func TestUsersWithSettingsAreListed(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	users := userStore(t, client)
	names := []string{"p:vip:x", "a:b", ":", "with space", "北京", "a", "b:", "vip:z"}
	for i := range 60 {
		names = append(names, fmt.Sprint("user", i))
	}
	for i, same := 0, 0; same < 8; i++ { // some in one partition, for pages within one
		if name := fmt.Sprint("same", i); keyspace.Partition(name) == keyspace.Partition("a") {
			names, same = append(names, name), same+1
		}
	}
	model := make(map[string]policy.UserSettings)
	for i := range 400 {
		user := names[(i*i+i/7)%len(names)]
		s := policy.UserSettings{Policy: []string{"", "vip", "vip-2"}[i%3], Blocked: i%5 == 0}
		if i%11 == 0 {
			s.TimeZone = "Asia/Tokyo"
		}
		if i%13 == 0 {
			err := users.Clear(t.Context(), user)
			require.NoError(t, err)
			delete(model, user)
			continue
		}
		require.NoError(t, users.Set(t.Context(), user, s))
		if model[user] = s; s.Equal(policy.UserSettings{}) {
			delete(model, user)
		}
	}
	for _, blocked := range []bool{false, true} {
		for _, named := range []string{"", "vip", "vip-2", "v"} {
			var want []string
			for user, s := range model {
				if (!blocked || s.Blocked) && (named == "" || s.Policy == named) {
					want = append(want, user)
				}
			}
			slices.Sort(want)
			for _, limit := range []int{0, 1, 3, 7, 1000} {
				var got []string
				r := settings.ListRequest{Blocked: blocked, Policy: named, Limit: limit}
				for {
					page, next, err := users.List(t.Context(), r)
					require.NoError(t, err)
					for _, u := range page {
						require.True(t, model[u.User].Equal(u.Settings), u.User)
						got = append(got, u.User)
					}
					if limit > 0 {
						require.LessOrEqual(t, len(page), limit)
					}
					if r.After = next; next == "" {
						break
					}
				}
				slices.Sort(got)
				require.Equal(t, want, got, "blocked %v, policy %q, %d a page", blocked, named, limit)
			}
		}
	}
	for user := range model {
		err := users.Clear(t.Context(), user)
		require.NoError(t, err)
	}
	rezoned, _, err := users.List(t.Context(), settings.ListRequest{Pending: true, Limit: 1000})
	require.NoError(t, err)
	require.NotEmpty(t, rezoned)
	for _, u := range rezoned {
		require.True(t, u.Settings.Rezoned)
		same, err := users.Complete(t.Context(), u.User, u.Settings.Version)
		require.NoError(t, err)
		require.True(t, same)
	}
	for _, key := range server.Keys() { // claims expire
		require.NotZero(t, server.TTL(key), key)
	}
}

func TestListsOfUsersThatAreRefused(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	users := userStore(t, client)
	for _, r := range []settings.ListRequest{{Limit: -1}, {Limit: 1001}, {Policy: "V I P"}, {After: "\n"}} {
		_, _, err := users.List(t.Context(), r)
		require.Error(t, err)
	}
	require.NoError(t, users.Set(t.Context(), "alice", policy.UserSettings{Blocked: true}))
	server.HSet("sl:{p0999}:o:alice", "limits", "1/blue_moon")
	page, _, err := users.List(t.Context(), settings.ListRequest{Blocked: true})
	require.NoError(t, err)
	require.Equal(t, []settings.ListedUser{{User: "alice", Unreadable: true}}, page)
	_, _, err = users.List(t.Context(), settings.ListRequest{Limit: 2000})
	require.Equal(t, "a page has 1 to 1000 users", story.Invalid(t, err, "limit", ""))
}
