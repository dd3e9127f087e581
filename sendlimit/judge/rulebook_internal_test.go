package judge

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func policyNamed(t *testing.T, name, zone string, rules ...string) policy.Policy {
	t.Helper()
	p, err := policy.Parse(name, zone, rules...)
	require.NoError(t, err)
	return p
}

// bookPolicies is what NewRulebook takes, but for the cache.
type bookPolicies struct {
	own          policy.Policy
	others       []policy.Policy
	userSettings bool
}

// bookOf has the policies default and vip.
func bookOf(t *testing.T, cache *SettingsCache, change ...func(*bookPolicies)) *Rulebook {
	t.Helper()
	o := bookPolicies{
		own:          policyNamed(t, "default", "Europe/Berlin", "1/minute", "10/calendar_day"),
		others:       []policy.Policy{policyNamed(t, "vip", "", "5/minute", "50/day"), policyNamed(t, "default", "", "1/366d")},
		userSettings: true,
	}
	o.others[0].UserTimeZone = true
	for _, c := range change {
		c(&o)
	}
	book, err := NewRulebook(o.own, o.others, o.userSettings, cache)
	require.NoError(t, err)
	return book
}

func TestRulesOfAUser(t *testing.T) {
	t.Parallel()
	book := bookOf(t, NewSettingsCache())
	nothing := book.Of("alice")
	require.Same(t, book.Base, nothing.Rules, "Options.Policy, and not another one of its name")
	require.Equal(t, "1/minute, 10/calendar_day (Europe/Berlin)", nothing.Rules.Policy.String())
	require.Empty(t, nothing.Settings())

	for _, row := range []struct {
		reason    string
		values    map[string]string
		rules     string
		quietZone string
		passed    string
	}{
		{"another contact", map[string]string{"contact": "a@example.org", "v": "v1"}, "1/minute, 10/calendar_day (Europe/Berlin)", "Europe/Berlin", "v1"},
		{"another policy", map[string]string{"policy": "vip", "v": "v2"}, "5/minute, 50/day (the user's time zone, else UTC)", "UTC", "v2"},
		{"another limit", map[string]string{"limits": "20/calendar_day", "v": "v3"}, "1/minute, 20/calendar_day (Europe/Berlin)", "Europe/Berlin", "v3"},
		{"one that replaces none", map[string]string{"limits": "20/day", "v": "v4"}, "1/minute, 10/calendar_day (Europe/Berlin)", "Europe/Berlin", "v4"},
		{"quiet hours in another zone, and only those", map[string]string{"zone": "Asia/Tokyo", "v": "v5"}, "1/minute, 10/calendar_day (Europe/Berlin)", "Asia/Tokyo", "v5"},
		{
			"all in another zone",
			map[string]string{"policy": "vip", "zone": "Asia/Tokyo", "limits": "9/day", "v": "v6"},
			"5/minute, 9/day (the user's time zone, else Asia/Tokyo)", "Asia/Tokyo", "v6",
		},
		{"blocked", map[string]string{"blocked": "1", "v": "v7"}, "1/minute, 10/calendar_day (Europe/Berlin)", "Europe/Berlin", "v7 b"},
	} {
		require.NoError(t, book.Learn("alice", row.values), row.reason)
		got := book.Of("alice")
		require.Equal(t, row.rules, got.Rules.Policy.String(), row.reason)
		require.Equal(t, row.quietZone, got.Rules.quietZone.String(), row.reason)
		require.Equal(t, row.passed, got.Settings(), row.reason)
		require.Same(t, got.Rules, book.Of("alice").Rules, "made once")
		require.Same(t, book.Base, book.Of("bob").Rules)
	}
	require.NoError(t, book.Learn("alice", map[string]string{}))
	require.Same(t, book.Base, book.Of("alice").Rules)
	require.Zero(t, book.Cache.users.Len(), "of users without settings nothing is kept")
}

// Users who have the same settings share what is made of them.
func TestUsersOfOneZoneShareTheirRules(t *testing.T) {
	t.Parallel()
	book := bookOf(t, nil)
	for i, user := range []string{"alice", "bob", "carol"} {
		zone := []string{"Asia/Tokyo", "Asia/Tokyo", "Asia/Kolkata"}[i]
		require.NoError(t, book.Learn(user, map[string]string{"zone": zone, "v": "v" + user}))
	}
	require.Same(t, book.Of("alice").Rules, book.Of("bob").Rules)
	require.NotSame(t, book.Of("alice").Rules, book.Of("carol").Rules)
	require.Equal(t, "valice", book.Of("alice").Version)
}

// Settings that can't be followed are said, and asked for anew at the next call.
func TestSettingsThatCanNotBeFollowed(t *testing.T) {
	t.Parallel()
	book := bookOf(t, nil)
	require.NoError(t, book.Learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	var away *fault.UnavailableError
	err := book.Learn("alice", map[string]string{"policy": "gone", "v": "v2"})
	require.ErrorAs(t, err, &away)
	require.ErrorIs(t, err, ErrUnknownPolicy)
	require.Equal(t, `policy "gone", which the settings of the user name, is not in the store:`+
		` apply it with worker policy apply, or name another one with worker user set`, away.Detail)
	require.Equal(t, UserRules{Rules: book.Base}, book.Of("alice"), "the script finds that none were taken")

	for _, values := range []map[string]string{
		{"limits": "1/blue_moon", "v": "v3"}, {"zone": "Mars/Olympus", "v": "v3"}, {"policy": "V I P", "v": "v3"},
	} {
		err = book.Learn("alice", values)
		require.ErrorAs(t, err, &away)
		require.NotErrorIs(t, err, ErrUnknownPolicy)
		require.Contains(t, away.Detail, "the settings of the user in the store can't be read")
		require.Equal(t, UserRules{Rules: book.Base}, book.Of("alice"))
	}
}

// What was learned goes on to the timelines that follow, under their policies.
func TestSettingsOutliveARulebook(t *testing.T) {
	t.Parallel()
	cache := NewSettingsCache()
	first := bookOf(t, cache)
	require.NoError(t, first.Learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	changed := bookOf(t, cache, func(o *bookPolicies) { o.others = []policy.Policy{policyNamed(t, "vip", "", "7/minute")} })
	require.Equal(t, "7/minute", changed.Of("alice").Rules.Policy.String())
	require.Equal(t, "v1", changed.Of("alice").Version)
	require.Equal(t, "5/minute, 50/day (the user's time zone, else UTC)", first.Of("alice").Rules.Policy.String())

	lacking := bookOf(t, cache, func(o *bookPolicies) { o.others = nil })
	require.Equal(t, UserRules{Rules: lacking.Base}, lacking.Of("alice"), "it has no such policy: to be learned anew")
	require.ErrorIs(t, lacking.Learn("alice", map[string]string{"policy": "vip", "v": "v1"}), ErrUnknownPolicy)

	ignoring := bookOf(t, cache, func(o *bookPolicies) { o.userSettings = false })
	require.Same(t, ignoring.Base, ignoring.Of("alice").Rules)
	require.Equal(t, "-", ignoring.Of("alice").Settings())
}

func TestARulebookOfBadPolicies(t *testing.T) {
	t.Parallel()
	_, err := NewRulebook(policy.Default(), []policy.Policy{{Name: "empty"}}, false, nil)
	require.ErrorContains(t, err, "at least one rule")
	_, err = NewRulebook(policy.Policy{}, nil, false, nil)
	require.ErrorContains(t, err, "a name of 1 to 64")
}

// Of too many users the cache forgets those whom nobody asks about.
func TestTheSettingsCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := newSettingsCache(8)
	book := bookOf(t, cache)
	for i := range 50 {
		require.NoError(t, book.Learn(strconv.Itoa(i), map[string]string{"limits": strconv.Itoa(i+1) + "/minute", "v": "v"}))
		require.Equal(t, "v", book.Of("0").Version, "asked about all the time")
	}
	require.Equal(t, 8, cache.users.Len())
	require.Empty(t, book.Of("1").Version)
	require.Equal(t, 50, book.Of("49").Rules.Policy.Rules[0].Limit)
}

// Many learn and ask at a time, under policies that follow one another: what a
// user is judged by always fits the version it is said to be of.
func TestRulebooksUsedAtATime(t *testing.T) {
	t.Parallel()
	cache := newSettingsCache(16)
	books := []*Rulebook{bookOf(t, cache), bookOf(t, cache)}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := g; ctx.Err() == nil; i++ {
				user, limit, book := strconv.Itoa(i%32), i%900+1, books[i%2]
				if err := book.Learn(user, map[string]string{"limits": strconv.Itoa(limit) + "/minute", "v": strconv.Itoa(limit)}); err != nil {
					t.Errorf("learning: %v", err)
				}
				got := books[(i+g)%2].Of(user)
				if got.Version != "" && got.Version != strconv.Itoa(got.Rules.Policy.Rules[0].Limit) {
					t.Errorf("version %s of %s", got.Version, got.Rules.Policy)
				}
			}
		})
	}
	all.Wait()
}
