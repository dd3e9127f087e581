package sendlimit

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func policyNamed(t *testing.T, name, zone string, rules ...string) Policy {
	t.Helper()
	p, err := ParsePolicy(name, zone, rules...)
	require.NoError(t, err)
	return p
}

// bookOf has the policies default and vip.
func bookOf(t *testing.T, cache *SettingsCache, change ...func(*Options)) *rulebook {
	t.Helper()
	o := Options{
		Policy:       policyNamed(t, "default", "Europe/Berlin", "1/minute", "10/calendar_day"),
		Policies:     []Policy{policyNamed(t, "vip", "", "5/minute", "50/day"), policyNamed(t, "default", "", "1/366d")},
		UserSettings: true, SettingsCache: cache,
	}
	o.Policies[0].UserTimeZone = true
	for _, c := range change {
		c(&o)
	}
	book, err := newRulebook(o.Policy, o.Policies, o.UserSettings, o.SettingsCache)
	require.NoError(t, err)
	return book
}

func TestRulesOfAUser(t *testing.T) {
	t.Parallel()
	book := bookOf(t, NewSettingsCache())
	nothing := book.of("alice")
	require.Same(t, book.base, nothing.rules, "Options.Policy, and not another one of its name")
	require.Equal(t, "1/minute, 10/calendar_day (Europe/Berlin)", nothing.rules.policy.String())
	require.Empty(t, nothing.settings())

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
		{"of an older program", map[string]string{"contact": "a@example.org"}, "1/minute, 10/calendar_day (Europe/Berlin)", "Europe/Berlin", ""},
	} {
		require.NoError(t, book.learn("alice", row.values), row.reason)
		got := book.of("alice")
		require.Equal(t, row.rules, got.rules.policy.String(), row.reason)
		require.Equal(t, row.quietZone, got.rules.quietZone.String(), row.reason)
		require.Equal(t, row.passed, got.settings(), row.reason)
		require.Same(t, got.rules, book.of("alice").rules, "made once")
		require.Same(t, book.base, book.of("bob").rules)
	}
	require.NoError(t, book.learn("alice", map[string]string{}))
	require.Same(t, book.base, book.of("alice").rules)
	require.Zero(t, book.cache.users.Len(), "of users without settings nothing is kept")
}

// Users who have the same settings share what is made of them.
func TestUsersOfOneZoneShareTheirRules(t *testing.T) {
	t.Parallel()
	book := bookOf(t, nil)
	for i, user := range []string{"alice", "bob", "carol"} {
		zone := []string{"Asia/Tokyo", "Asia/Tokyo", "Asia/Kolkata"}[i]
		require.NoError(t, book.learn(user, map[string]string{"zone": zone, "v": "v" + user}))
	}
	require.Same(t, book.of("alice").rules, book.of("bob").rules)
	require.NotSame(t, book.of("alice").rules, book.of("carol").rules)
	require.Equal(t, "valice", book.of("alice").version)
}

// Settings that can't be followed are said, and asked for anew at the next call.
func TestSettingsThatCanNotBeFollowed(t *testing.T) {
	t.Parallel()
	book := bookOf(t, nil)
	require.NoError(t, book.learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	var away *UnavailableError
	err := book.learn("alice", map[string]string{"policy": "gone", "v": "v2"})
	require.ErrorAs(t, err, &away)
	require.ErrorIs(t, err, ErrUnknownPolicy)
	require.Equal(t, `policy "gone", which the settings of the user name, is not in the store:`+
		` apply it with worker policy apply, or name another one with worker user set`, away.Detail)
	require.Equal(t, userRules{rules: book.base}, book.of("alice"), "the script finds that none were taken")

	for _, values := range []map[string]string{
		{"limits": "1/blue_moon", "v": "v3"}, {"zone": "Mars/Olympus", "v": "v3"}, {"policy": "V I P", "v": "v3"},
	} {
		err = book.learn("alice", values)
		require.ErrorAs(t, err, &away)
		require.NotErrorIs(t, err, ErrUnknownPolicy)
		require.Contains(t, away.Detail, "the settings of the user in the store can't be read")
		require.Equal(t, userRules{rules: book.base}, book.of("alice"))
	}
}

// What was learned goes on to the timelines that follow, under their policies.
func TestSettingsOutliveARulebook(t *testing.T) {
	t.Parallel()
	cache := NewSettingsCache()
	first := bookOf(t, cache)
	require.NoError(t, first.learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	changed := bookOf(t, cache, func(o *Options) { o.Policies = []Policy{policyNamed(t, "vip", "", "7/minute")} })
	require.Equal(t, "7/minute", changed.of("alice").rules.policy.String())
	require.Equal(t, "v1", changed.of("alice").version)
	require.Equal(t, "5/minute, 50/day (the user's time zone, else UTC)", first.of("alice").rules.policy.String())

	lacking := bookOf(t, cache, func(o *Options) { o.Policies = nil })
	require.Equal(t, userRules{rules: lacking.base}, lacking.of("alice"), "it has no such policy: to be learned anew")
	require.ErrorIs(t, lacking.learn("alice", map[string]string{"policy": "vip", "v": "v1"}), ErrUnknownPolicy)

	ignoring := bookOf(t, cache, func(o *Options) { o.UserSettings = false })
	require.Same(t, ignoring.base, ignoring.of("alice").rules)
	require.Equal(t, "-", ignoring.of("alice").settings())
}

func TestARulebookOfBadPolicies(t *testing.T) {
	t.Parallel()
	_, err := newRulebook(DefaultPolicy(), []Policy{{Name: "empty"}}, false, nil)
	require.ErrorContains(t, err, "at least one rule")
	_, err = newRulebook(Policy{}, nil, false, nil)
	require.ErrorContains(t, err, "a name of 1 to 64")
}

// Of too many users the cache forgets those whom nobody asks about.
func TestTheSettingsCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := newSettingsCache(8)
	book := bookOf(t, cache)
	for i := range 50 {
		require.NoError(t, book.learn(strconv.Itoa(i), map[string]string{"limits": strconv.Itoa(i+1) + "/minute", "v": "v"}))
		require.Equal(t, "v", book.of("0").version, "asked about all the time")
	}
	require.Equal(t, 8, cache.users.Len())
	require.Empty(t, book.of("1").version)
	require.Equal(t, 50, book.of("49").rules.policy.Rules[0].Limit)
}

// Many learn and ask at a time, under policies that follow one another: what a
// user is judged by always fits the version it is said to be of.
func TestRulebooksUsedAtATime(t *testing.T) {
	t.Parallel()
	cache := newSettingsCache(16)
	books := []*rulebook{bookOf(t, cache), bookOf(t, cache)}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := g; ctx.Err() == nil; i++ {
				user, limit, book := strconv.Itoa(i%32), i%900+1, books[i%2]
				if err := book.learn(user, map[string]string{"limits": strconv.Itoa(limit) + "/minute", "v": strconv.Itoa(limit)}); err != nil {
					t.Errorf("learning: %v", err)
				}
				got := books[(i+g)%2].of(user)
				if got.version != "" && got.version != strconv.Itoa(got.rules.policy.Rules[0].Limit) {
					t.Errorf("version %s of %s", got.version, got.rules.policy)
				}
			}
		})
	}
	all.Wait()
}
