package settings_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func policyStore(t *testing.T, client redis.Cmdable) *settings.Policies {
	t.Helper()
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	return policies
}

// Every changed policy gets a new version. An equal one keeps its version.
func TestPolicyVersions(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	full := story.FullPolicy(t)

	change, err := policies.Replace(t.Context(), full, settings.AnyVersion)
	require.NoError(t, err)
	require.Nil(t, change.Old)
	require.True(t, change.Changed)
	require.Equal(t, int64(1), change.New.Version)
	stored := server.HGet("sl:{policies}:stored", "full")
	require.Equal(t, strings.Replace(story.FullDocument, `"version":3`, `"version":1`, 1), stored) //nolint:testifylint // the very bytes are what is compared

	full.Version = 17 // what is given counts for nothing
	change, err = policies.Replace(t.Context(), full, settings.AnyVersion)
	require.NoError(t, err)
	require.False(t, change.Changed)
	require.Equal(t, int64(1), change.New.Version)
	require.Equal(t, change.New, *change.Old)

	looser := full
	looser.Rules = looser.Rules[1:]
	change, err = policies.Replace(t.Context(), looser, 1)
	require.NoError(t, err)
	require.True(t, change.Changed)
	require.True(t, full.Equal(*change.Old))
	require.Equal(t, int64(1), change.Old.Version)
	require.Equal(t, int64(2), change.New.Version)
	loaded, ok, err := policies.Load(t.Context(), "full")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, change.New, loaded)

	_, ok, err = policies.Load(t.Context(), "other")
	require.NoError(t, err)
	require.False(t, ok)
}

// A caller that expects another version has not seen the stored policy, and
// replaces nothing.
func TestAPolicyThatHasChangedSince(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	first, second, third := story.PolicyOf(t, "1/day"), story.PolicyOf(t, "2/day"), story.PolicyOf(t, "3/day")
	mismatch := func(p policy.Policy, expected, present int64, says string) {
		_, err := policies.Replace(t.Context(), p, expected)
		var problem *settings.VersionError
		require.ErrorAs(t, err, &problem)
		require.Equal(t, settings.VersionError{Name: "test", Expected: expected, Present: present}, *problem)
		require.EqualError(t, err, says)
	}
	mismatch(first, 1, 0, "there is no policy test, so no version 1 of it: leave the version out to create it")
	_, err := policies.Replace(t.Context(), first, 0)
	require.NoError(t, err)
	mismatch(second, 0, 1, "there is a policy test already, at version 1: read it first")
	_, err = policies.Replace(t.Context(), second, 1)
	require.NoError(t, err)
	mismatch(third, 1, 2, "policy test is at version 2, not at 1: read it again, and repeat the change on that version")
	// A repeated call after a lost answer has the same outcome.
	change, err := policies.Replace(t.Context(), second, 1)
	require.NoError(t, err)
	require.Equal(t, int64(2), change.New.Version)
	_, err = policies.Replace(t.Context(), second, -2)
	require.NotEmpty(t, story.Invalid(t, err, "version", "-2"))
}

// If many callers replace the same version, one succeeds.
func TestOneReplacesAVersion(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	require.NoError(t, policies.Apply(t.Context(), story.PolicyOf(t, "100/day")))
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			p := story.PolicyOf(t, "100/day")
			p.Rules[0].Limit = i + 1
			_, errs[i] = policies.Replace(context.WithoutCancel(t.Context()), p, 1)
		})
	}
	all.Wait()
	replaced := 0
	for _, err := range errs {
		if err == nil {
			replaced++
			continue
		}
		var problem *settings.VersionError
		require.ErrorAs(t, err, &problem)
	}
	require.Equal(t, 1, replaced)
}

// An invalid policy is not stored and not listed.
func TestABadPolicyIsNotStored(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	bad := story.PolicyOf(t, "1/day")
	bad.Reach = -1
	require.Error(t, policies.Apply(t.Context(), bad))
	_, err := policies.Seed(t.Context(), bad)
	require.Error(t, err)
	require.Empty(t, server.Keys())
}

// With two rules of the same window, a user's own limit would be ambiguous. Such
// policies are not accepted. Stored ones apply.
func TestRulesOfTheSameWindowAreNotStored(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	category := func(name string, rules ...string) policy.Policy {
		p := story.PolicyOf(t, "5/hour", "9/calendar_day")
		p.Categories = map[string]policy.CategoryRules{name: {Rules: story.PolicyOf(t, rules...).Rules}}
		return p
	}
	for _, row := range []struct {
		policy             policy.Policy
		field, value, want string
	}{
		{story.PolicyOf(t, "5/hour", "1/minute", "7/hour"), "rules", "7/hour", "rules has 5/hour and 7/hour, which have the same window: keep one of them"},
		{story.PolicyOf(t, "5/60m", "7/3600s"), "rules", "7/hour", "rules has 5/hour and 7/hour, which have the same window: keep one of them"},
		{story.PolicyOf(t, "2/calendar_day", "1/calendar_day"), "rules", "1/calendar_day", "rules has 2/calendar_day and 1/calendar_day, which have the same window: keep one of them"},
		{category("ads", "2/day", "3/day"), "categories.ads.rules", "3/day", "categories.ads.rules has 2/day and 3/day, which have the same window: keep one of them"},
	} {
		require.NoError(t, row.policy.Validate(), "it can be judged by")
		_, err := row.policy.Document().Policy()
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
		_, err = policies.Replace(t.Context(), row.policy, settings.AnyVersion)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
		_, err = policies.Seed(t.Context(), row.policy)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
	}
	require.Empty(t, server.Keys())

	for _, fine := range []policy.Policy{story.PolicyOf(t, "5/day", "7/calendar_day", "9/25h"), category("ads", "2/hour", "3/calendar_day")} {
		_, err := fine.Document().Policy()
		require.NoError(t, err)
		require.NoError(t, policies.Apply(t.Context(), fine))
	}

	server.HSet("sl:{policies}:stored", "test", `{"name":"test","rules":["5/hour","7/hour"],"categories":{"ads":{"rules":["3/day","2/day"]}},"version":4}`)
	stored, ok, err := policies.Load(t.Context(), "test")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "5/hour, 7/hour, ads 3/day and 2/day", stored.String())
	all, unreadable, err := policies.All(t.Context())
	require.NoError(t, err)
	require.Equal(t, []policy.Policy{stored}, all)
	require.Empty(t, unreadable)
	_, err = sendlimit.NewTimeline(client, sendlimit.Options{Rules: story.RulesBy(t, stored), Records: true})
	require.NoError(t, err)
	change, err := policies.Replace(t.Context(), story.PolicyOf(t, "5/hour"), 4)
	require.NoError(t, err)
	require.Equal(t, &stored, change.Old)
}

// Unreadable policies of newer programs do no harm.
func TestAllPolicies(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	names := func() (names, unreadable []string) {
		all, unreadable, err := policies.All(t.Context())
		require.NoError(t, err)
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names, unreadable
	}
	found, unreadable := names()
	require.Empty(t, found)
	require.Empty(t, unreadable)

	require.NoError(t, policies.Apply(t.Context(), story.FullPolicy(t)))
	require.NoError(t, policies.Apply(t.Context(), story.PolicyOf(t, "1/day")))
	found, _ = names()
	require.Equal(t, []string{"full", "test"}, found)

	server.HSet("sl:{policies}:stored", "test", `{"name":"test","rules":["1/blue moon"],"version":4}`)
	found, unreadable = names()
	require.Equal(t, []string{"full"}, found)
	require.Equal(t, []string{"test"}, unreadable)
	_, _, err := policies.Load(t.Context(), "test")
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Contains(t, away.Detail, `policy "test" in the store can't be read: apply them again`)
	change, err := policies.Replace(t.Context(), story.PolicyOf(t, "1/day"), settings.AnyVersion)
	require.NoError(t, err)
	require.Nil(t, change.Old)
	require.Equal(t, int64(5), change.New.Version)
}

func TestSeedAPolicy(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	seeded, err := policies.Seed(t.Context(), story.FullPolicy(t))
	require.NoError(t, err)
	require.Equal(t, int64(1), seeded.Version)
	require.True(t, story.FullPolicy(t).Equal(seeded))
	members, err := server.HKeys("sl:{policies}:stored")
	require.NoError(t, err)
	require.Equal(t, []string{"full"}, members)
	change, err := policies.Replace(t.Context(), story.FullPolicy(t), settings.AnyVersion)
	require.NoError(t, err)
	require.False(t, change.Changed)

	server.SetError("NOAUTH Authentication required.")
	for _, do := range []func() error{
		func() error { _, err := policies.Seed(t.Context(), story.FullPolicy(t)); return err },
		func() error { return policies.Apply(t.Context(), story.FullPolicy(t)) },
		func() error { _, _, err := policies.All(t.Context()); return err },
		func() error { _, _, err := policies.Load(t.Context(), "full"); return err },
	} {
		var away *fault.UnavailableError
		require.ErrorAs(t, do(), &away)
	}
}
