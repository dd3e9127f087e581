package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestVersionsOfAPolicy(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	now := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	server.SetTime(now)
	policies := policyStore(t, client)
	_, err := policies.Versions(t.Context(), "vip")
	var none *fault.NoSuchError
	require.ErrorAs(t, err, &none)

	_, err = policies.Seed(t.Context(), named(t, "vip", "1/day"))
	require.NoError(t, err)
	server.SetTime(now.Add(time.Minute))
	require.NoError(t, policies.By("a\"d\na").Apply(t.Context(), named(t, "vip", "2/day")))
	require.NoError(t, policies.By("nobody").Apply(t.Context(), named(t, "vip", "2/day")), "nothing has changed")
	change, err := policies.By("bob").Rollback(t.Context(), "vip", 1, 2)
	require.NoError(t, err)
	require.Equal(t, []any{int64(3), "1/day", "2/day"}, []any{change.New.Version, change.New.String(), change.Old.String()})

	var other *settings.VersionError
	_, err = policies.Rollback(t.Context(), "vip", 2, 2)
	require.ErrorAs(t, err, &other)
	_, err = policies.Rollback(t.Context(), "vip", 17, 3)
	require.ErrorAs(t, err, &none)
	require.EqualError(t, err, `no version 17 of policy "vip"`)

	require.NoError(t, policies.By("carol").Delete(t.Context(), "vip", 3))
	versions, err := policies.Versions(t.Context(), "vip")
	require.NoError(t, err)
	type line struct {
		version int64
		at      time.Duration
		by, is  string
	}
	var lines []line
	for _, v := range versions {
		is := "deleted"
		if !v.Deleted {
			is = v.Policy.String()
			require.Equal(t, v.Version, v.Policy.Version)
		}
		lines = append(lines, line{v.Version, v.At.Sub(now), v.By, is})
	}
	require.Equal(t, []line{
		{4, time.Minute, "carol", "deleted"}, {3, time.Minute, "bob", "1/day"}, {2, time.Minute, `a"d a`, "2/day"}, {1, 0, "", "1/day"},
	}, lines)
	_, err = policies.Version(t.Context(), "vip", 4)
	require.Equal(t, "version 4 of policy vip is its deletion: choose an earlier one", story.Invalid(t, err, "version", ""))

	change, err = policies.Rollback(t.Context(), "vip", 2, 0)
	require.NoError(t, err)
	require.Equal(t, []any{int64(5), "2/day"}, []any{change.New.Version, change.New.String()})
	require.Nil(t, change.Old)
	server.FastForward(31 * 24 * time.Hour)
	versions, err = policies.Versions(t.Context(), "vip")
	require.NoError(t, err)
	require.Len(t, versions, 5)
}

// The store keeps a bounded number of versions, and those of a deleted policy for a while.
func TestVersionsAreForgotten(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client).By(strings.Repeat("ä", 200))
	for i := range settings.MaxVersions + 20 {
		p := named(t, "vip", "1/day")
		p.Rules[0].Limit = i + 1
		require.NoError(t, policies.Apply(t.Context(), p))
	}
	versions, err := policies.Versions(t.Context(), "vip")
	require.NoError(t, err)
	require.Len(t, versions, settings.MaxVersions)
	require.Equal(t, int64(120), versions[0].Version)
	require.Equal(t, strings.Repeat("ä", 128), versions[0].By)
	_, err = policies.Version(t.Context(), "vip", 20)
	require.Error(t, err)
	require.NoError(t, policies.Delete(t.Context(), "vip", settings.AnyVersion))
	server.FastForward(30 * 24 * time.Hour)
	_, err = policies.Versions(t.Context(), "vip")
	require.Error(t, err)
	require.Equal(t, []string{"sl:{policies}:changes"}, server.Keys())
}

// A version that a newer program wrote can be listed, and is not stored again.
func TestAVersionOfANewerProgram(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	require.NoError(t, policies.Apply(t.Context(), named(t, "vip", "1/day")))
	_, err := server.Push("sl:{policies}:versions:vip", `{"version":9,"at":1,"by":"x","policy":{"name":"vip","rules":["1/moon"]}}`)
	require.NoError(t, err)
	versions, err := policies.Versions(t.Context(), "vip")
	require.NoError(t, err)
	require.Len(t, versions, 2)
	require.Nil(t, versions[1].Policy)
	_, err = policies.Rollback(t.Context(), "vip", 9, settings.AnyVersion)
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
}

// Changed tells of every change once.
func TestChangesOfPolicies(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	var last int64
	changed := func() []string {
		c, err := policies.Changed(t.Context(), last)
		require.NoError(t, err)
		require.False(t, c.Lost)
		last = c.Last
		return c.Names
	}
	require.Empty(t, changed())
	for i, name := range []string{"b", "a", "c", "a"} {
		p := named(t, name, "1/day")
		p.Rules[0].Limit = i + 1
		require.NoError(t, policies.Apply(t.Context(), p))
	}
	require.Equal(t, []string{"a", "b", "c"}, changed())
	require.Empty(t, changed())
	require.NoError(t, policies.Apply(t.Context(), named(t, "a", "9/day")))
	require.Equal(t, []string{"a"}, changed())
	require.NoError(t, policies.Delete(t.Context(), "b", settings.AnyVersion))
	require.Equal(t, []string{"b"}, changed())

	server.Del("sl:{policies}:changes")
	c, err := policies.Changed(t.Context(), last)
	require.NoError(t, err)
	require.True(t, c.Lost)
}

// A window that was in force is remembered for its own length, whether its policy was changed or
// deleted. A policy that looks back further says from when on it counts everything.
func TestFormerWindowsAreRemembered(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	policies := policyStore(t, client)
	apply := func(name, rule string) settings.PolicyChange {
		p := story.PolicyOf(t, rule)
		p.Name = name
		change, err := policies.Replace(t.Context(), p, settings.AnyVersion)
		require.NoError(t, err)
		return change
	}
	remembered := func(after time.Duration) time.Duration {
		changes, err := policies.Changed(t.Context(), 0)
		require.NoError(t, err)
		return settings.Former(changes.Windows, time.Now().Add(after))
	}
	require.Zero(t, apply("test", "3/day").ExactFrom, "nothing was accepted before")
	require.Zero(t, remembered(0))
	apply("test", "5/minute")
	require.Equal(t, calendar.DayLong+policy.Grace, remembered(0))
	require.Equal(t, calendar.DayLong+policy.Grace, remembered(calendar.DayLong))
	require.Zero(t, remembered(calendar.DayLong+time.Minute))
	require.Zero(t, apply("test", "3/day").ExactFrom, "the window was in force today")

	require.WithinDuration(t, time.Now().Add(2*calendar.DayLong), apply("other", "3/3d").ExactFrom, time.Minute)
	require.NoError(t, policies.Delete(t.Context(), "other", settings.AnyVersion))
	require.Equal(t, 3*calendar.DayLong+policy.Grace, remembered(0))
	require.Zero(t, apply("third", "3/3d").ExactFrom)
}
