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

// policiesOf are default and vip.
func policiesOf(t *testing.T) []policy.Policy {
	t.Helper()
	vip := policyNamed(t, "vip", "", "5/minute", "50/day")
	vip.UserTimeZone = true
	return []policy.Policy{
		policyNamed(t, "default", "Europe/Berlin", "1/minute", "10/calendar_day"), vip, policyNamed(t, "default", "", "1/366d"),
	}
}

// rulesOf returns rules by policiesOf that remember that many users.
func rulesOf(t *testing.T, users int) *Rules {
	t.Helper()
	r := &Rules{settings: newSettingsCache(users)}
	require.NoError(t, r.Replace(policiesOf(t)...))
	return r
}

// bookOf has policiesOf.
func bookOf(t *testing.T) *Rulebook {
	t.Helper()
	return rulesOf(t, 8).Book()
}

func TestRulesOfAUser(t *testing.T) {
	t.Parallel()
	book := bookOf(t)
	nothing := book.Of("alice")
	require.Same(t, book.Base, nothing.Rules, "the first one, and not another one of its name")
	require.Equal(t, "1/minute, 10/calendar_day (Europe/Berlin)", nothing.Rules.Policy.String())
	require.Empty(t, nothing.settings(Case{}))

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
		{"one that replaces none", map[string]string{"limits": "20/day", "v": "v4"}, "1/minute, 10/calendar_day, 20/day (Europe/Berlin)", "Europe/Berlin", "v4"},
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
		require.Equal(t, row.passed, got.settings(Case{}), row.reason)
		require.Same(t, got.Rules, book.Of("alice").Rules, "made once")
		require.Same(t, book.Base, book.Of("bob").Rules)
	}
	require.NoError(t, book.Learn("alice", map[string]string{}))
	require.Same(t, book.Base, book.Of("alice").Rules)
	require.Zero(t, book.owner.settings.users.Len(), "of users without settings nothing is kept")
}

// Users with the same settings share their compiled rules.
func TestUsersOfOneZoneShareTheirRules(t *testing.T) {
	t.Parallel()
	book := bookOf(t)
	for i, user := range []string{"alice", "bob", "carol"} {
		zone := []string{"Asia/Tokyo", "Asia/Tokyo", "Asia/Kolkata"}[i]
		require.NoError(t, book.Learn(user, map[string]string{"zone": zone, "v": "v" + user}))
	}
	require.Same(t, book.Of("alice").Rules, book.Of("bob").Rules)
	require.NotSame(t, book.Of("alice").Rules, book.Of("carol").Rules)
	require.Equal(t, "valice", book.Of("alice").Version)
}

// Settings that can't be followed give an error, and are read again at the next call.
func TestSettingsThatCanNotBeFollowed(t *testing.T) {
	t.Parallel()
	book := bookOf(t)
	require.NoError(t, book.Learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	var away *fault.UnavailableError
	err := book.Learn("alice", map[string]string{"policy": "gone", "v": "v2"})
	require.ErrorAs(t, err, &away)
	require.ErrorIs(t, err, ErrUnknownPolicy)
	require.Equal(t, `policy "gone", which the settings of the user name, is not in the store:`+
		` apply it, or give the user another policy`, away.Detail)
	require.Equal(t, UserRules{Rules: book.Base, Book: book}, book.Of("alice"), "the script finds that none were taken")

	for _, values := range []map[string]string{
		{"limits": "1/blue_moon", "v": "v3"}, {"zone": "Mars/Olympus", "v": "v3"}, {"policy": "V I P", "v": "v3"},
	} {
		err = book.Learn("alice", values)
		require.ErrorAs(t, err, &away)
		require.NotErrorIs(t, err, ErrUnknownPolicy)
		require.Contains(t, away.Detail, "the settings of the user in the store can't be read")
		require.Equal(t, UserRules{Rules: book.Base, Book: book}, book.Of("alice"))
	}
}

// Learned settings stay when policies are replaced, and apply to the new ones.
func TestSettingsOutliveARulebook(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, 8)
	first := rules.Book()
	require.NoError(t, first.Learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	own := policiesOf(t)[0]
	require.NoError(t, rules.Replace(own, policyNamed(t, "vip", "", "7/minute")))
	changed := rules.Book()
	require.Equal(t, "7/minute", rules.Of("alice").String())
	require.Equal(t, "7/minute", changed.Of("alice").Rules.Policy.String())
	require.Equal(t, "v1", changed.Of("alice").Version)
	require.Equal(t, "5/minute, 50/day (the user's time zone, else UTC)", first.Of("alice").Rules.Policy.String())

	frozen := rules.Frozen()
	require.NoError(t, rules.Replace(own))
	lacking := rules.Book()
	require.Equal(t, UserRules{Rules: lacking.Base, Book: lacking}, lacking.Of("alice"), "it has no such policy: to be learned anew")
	require.ErrorIs(t, lacking.Learn("alice", map[string]string{"policy": "vip", "v": "v1"}), ErrUnknownPolicy)

	require.Equal(t, own, frozen.Of("alice"), "it was forgotten")
	require.NoError(t, frozen.Book().Learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	require.Equal(t, "7/minute", frozen.Of("alice").String(), "the policies of its time")

	ignoring, err := NewFixed(own)
	require.NoError(t, err)
	require.NoError(t, ignoring.Book().Learn("alice", map[string]string{"limits": "9/minute", "v": "v1"}))
	require.Same(t, ignoring.Book().Base, ignoring.Book().Of("alice").Rules)
	require.Equal(t, "-", ignoring.Book().Of("alice").settings(Case{}))
}

// Rules with another policy share nothing with those they are made of.
func TestRulesWithAnotherPolicy(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, 8)
	require.NoError(t, rules.Book().Learn("alice", map[string]string{"policy": "vip", "v": "v1"}))
	other, err := rules.With(policyNamed(t, "vip", "", "7/minute"))
	require.NoError(t, err)
	require.Equal(t, other.Policies()[0], other.Of("alice"), "nothing is known of her")
	require.NoError(t, other.Book().Learn("alice", map[string]string{"policy": "vip", "v": "v2"}))
	require.Equal(t, "7/minute", other.Of("alice").String())
	require.Equal(t, "v1", rules.Book().Of("alice").Version)
	require.Equal(t, "5/minute, 50/day (the user's time zone, else UTC)", rules.Of("alice").String())

	more, err := rules.With(policyNamed(t, "new", "", "3/minute"))
	require.NoError(t, err)
	require.Len(t, more.Policies(), 4)
	_, err = rules.With(policy.Policy{Name: "empty"})
	require.ErrorContains(t, err, "at least one rule")
	require.Len(t, rules.Policies(), 3)
}

func TestARulebookOfBadPolicies(t *testing.T) {
	t.Parallel()
	_, err := NewRules(policy.Default(), policy.Policy{Name: "empty"})
	require.ErrorContains(t, err, "at least one rule")
	_, err = NewRules(policy.Policy{})
	require.ErrorContains(t, err, "a name of 1 to 64")
}

// Of too many users the cache forgets those whom nobody asks about.
func TestTheSettingsCacheIsBounded(t *testing.T) {
	t.Parallel()
	book := bookOf(t)
	for i := range 50 {
		require.NoError(t, book.Learn(strconv.Itoa(i), map[string]string{"limits": strconv.Itoa(i+1) + "/minute", "v": "v"}))
		require.Equal(t, "v", book.Of("0").Version, "asked about all the time")
	}
	require.Equal(t, 8, book.owner.settings.users.Len())
	require.Empty(t, book.Of("1").Version)
	require.Equal(t, 50, book.Of("49").Rules.Policy.Rules[0].Limit)
}

// Many learn and ask at a time, under policies that follow one another: what a
// user is judged by always fits the version it is said to be of.
func TestRulebooksUsedAtATime(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, 16)
	books := []*Rulebook{rules.Book(), nil}
	require.NoError(t, rules.Replace(policiesOf(t)...))
	books[1] = rules.Book()
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
