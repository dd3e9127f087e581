package settings_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func settingsStore(t *testing.T) (*miniredis.Miniredis, *settings.Users) {
	t.Helper()
	server, client := redistest.Embedded(t)
	settings := settings.NewUsers(client, keyspace.KeysUnder(""))
	return server, settings
}

func fullSettings() policy.UserSettings {
	return policy.UserSettings{
		Contact: "ada@example.org", Policy: "vip", TimeZone: "Asia/Tokyo", Blocked: true,
		Limits:    []policy.Rule{{Limit: 20, Period: calendar.Day}, {Limit: 3, Window: time.Minute}},
		BestHours: append(make(policy.BestHours, policy.HoursOfWeek-2), 35, policy.MaxWeight),
	}
}

func TestUserSettings(t *testing.T) {
	t.Parallel()
	server, settings := settingsStore(t)
	key := story.KeysOf(sendlimit.Options{}).Settings("alice")
	got, err := settings.Get(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, policy.UserSettings{}, got)

	require.NoError(t, settings.Set(t.Context(), "alice", fullSettings()))
	first, err := settings.Get(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, fullSettings().Equal(first))
	require.Len(t, first.Version, 12)
	require.Equal(t, "20/calendar_day 3/minute", server.HGet(key, "limits"))
	require.Equal(t, "Asia/Tokyo", server.HGet(key, "zone"))
	require.Equal(t, "1", server.HGet(key, "blocked"))
	require.Equal(t, first.Version, server.HGet(key, "v"))

	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{TimeZone: "Asia/Tokyo", Version: "mine"}))
	second, err := settings.Get(t.Context(), "alice")
	require.NoError(t, err)
	require.Greater(t, second.Former.At(time.Now()), calendar.DayLong, "there was a limit per day")
	require.Equal(t, policy.UserSettings{TimeZone: "Asia/Tokyo", Rezoned: true, Former: second.Former, Version: second.Version}, second)
	require.NotContains(t, []string{"", "mine", first.Version}, second.Version)
	complete := func(version string) {
		same, err := settings.Complete(t.Context(), "alice", version)
		require.NoError(t, err)
		require.True(t, same)
	}
	complete(second.Version)
	fields, err := server.HKeys(key)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"zone", "kept", "v"}, fields)

	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{}))
	require.Zero(t, server.TTL(key), "messages may still follow the zone")
	complete(server.HGet(key, "v"))
	require.Equal(t, time.Until(second.Former.Until).Round(time.Minute), server.TTL(key).Round(time.Minute), "nothing is set any more")
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Contact: "alice@example.com"}))
	require.Zero(t, server.TTL(key))
	server.HDel(key, "kept")
	require.NoError(t, settings.Clear(t.Context(), "alice"))
	require.False(t, server.Exists(key))
}

// Unknown fields of newer programs are kept.
func TestUserSettingsOfANewerProgram(t *testing.T) {
	t.Parallel()
	server, settings := settingsStore(t)
	key := story.KeysOf(sendlimit.Options{}).Settings("alice")
	server.HSet(key, "contact", "ada@example.org")
	got, err := settings.Get(t.Context(), "alice")
	require.NoError(t, err)
	require.Equal(t, policy.UserSettings{Contact: "ada@example.org"}, got)

	server.HSet(key, "favourite_colour", "green")
	got, err = settings.Update(t.Context(), "alice", func(policy.UserSettings) (policy.UserSettings, error) {
		return policy.UserSettings{}, nil
	})
	require.NoError(t, err)
	require.Equal(t, server.HGet(key, "v"), got.Version)
	require.NotEmpty(t, got.Version, "the settings are still there")
	require.Equal(t, "green", server.HGet(key, "favourite_colour"))

	server.HSet(key, "limits", "20/blue_moon")
	_, err = settings.Get(t.Context(), "alice")
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Contains(t, away.Detail, "clear them and set them again")
	require.NoError(t, settings.Set(t.Context(), "alice", fullSettings()))
	got, err = settings.Get(t.Context(), "alice")
	require.NoError(t, err)
	require.True(t, fullSettings().Equal(got))
}

func TestUserSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	server, settings := settingsStore(t)
	many := make([]policy.Rule, policy.MaxRules+1)
	for i := range many {
		many[i] = policy.Rule{Limit: 1, Window: time.Duration(i+1) * time.Minute}
	}
	for _, row := range []struct {
		settings           policy.UserSettings
		field, value, want string
	}{
		{policy.UserSettings{Policy: "V I P"}, "policy", "V I P", "a name of 1 to 64 of a-z 0-9 _ -"},
		{policy.UserSettings{TimeZone: "Local"}, "time_zone", "Local", "an IANA time zone such as Europe/Berlin"},
		{policy.UserSettings{TimeZone: "Mars/Olympus"}, "time_zone", "Mars/Olympus", "an IANA time zone such as Europe/Berlin"},
		{policy.UserSettings{Limits: []policy.Rule{{Limit: 0, Window: time.Hour}}}, "limits", "0/hour", "a limit of 1 to 1000"},
		{
			policy.UserSettings{Limits: []policy.Rule{{Limit: 1, Window: time.Hour}, {Limit: 2, Window: time.Hour}}},
			"limits", "2/hour", "the limit 2/hour has the same window as another limit: give one for each window",
		},
		{
			policy.UserSettings{BestHours: make(policy.BestHours, 24)},
			"best_hours", "24", "the length of best_hours is 24: give 168 numbers, one for each hour of the week from Monday at 00:00 on",
		},
		{
			policy.UserSettings{BestHours: append(make(policy.BestHours, 167), 1001)},
			"best_hours[167]", "1001", "best_hours[167], Sunday at 23:00, is 1001: give a whole number from 0 to 1000",
		},
		{policy.UserSettings{Limits: many}, "limits", "", "there are 51 limits: a user has at most 50"},
	} {
		require.Equal(t, row.want, story.Invalid(t, settings.Set(t.Context(), "alice", row.settings), row.field, row.value))
		_, err := settings.Update(t.Context(), "alice", func(policy.UserSettings) (policy.UserSettings, error) {
			return row.settings, nil
		})
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
	}
	require.ErrorContains(t, settings.Set(t.Context(), "alice", policy.UserSettings{Contact: "ada"}), "contact")
	require.ErrorContains(t, settings.Set(t.Context(), "", fullSettings()), "user")
	_, err := settings.Update(t.Context(), "\n", func(s policy.UserSettings) (policy.UserSettings, error) { return s, nil })
	require.ErrorContains(t, err, "user")
	require.Empty(t, server.Keys())
}

// Concurrent changes of different settings do not undo each other.
func TestUpdatesOfUserSettingsDoNotCross(t *testing.T) {
	t.Parallel()
	_, settings := settingsStore(t)
	var all sync.WaitGroup
	for minute := range 6 {
		all.Go(func() {
			ctx := context.WithoutCancel(t.Context())
			limit := policy.Rule{Limit: 1, Window: time.Duration(minute+1) * time.Minute}
			_, err := settings.Update(ctx, "alice", func(s policy.UserSettings) (policy.UserSettings, error) {
				s.Limits = append(s.Limits, limit)
				return s, nil
			})
			if err != nil {
				t.Errorf("update %d: %v", minute, err)
			}
		})
	}
	all.Wait()
	got, err := settings.Get(t.Context(), "alice")
	require.NoError(t, err)
	require.Len(t, got.Limits, 6)
}

// An update sees concurrent changes. A change without effect keeps the version.
func TestAnUpdateOfUserSettings(t *testing.T) {
	t.Parallel()
	_, settings := settingsStore(t)
	calls := 0
	got, err := settings.Update(t.Context(), "alice", func(s policy.UserSettings) (policy.UserSettings, error) {
		if calls++; calls == 1 {
			require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"}))
		}
		s.Blocked = true
		return s, nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.Equal(t, policy.UserSettings{Policy: "vip", Blocked: true, Version: got.Version}, got)

	same, err := settings.Update(t.Context(), "alice", func(s policy.UserSettings) (policy.UserSettings, error) { return s, nil })
	require.NoError(t, err)
	require.Equal(t, got, same)

	refused := errors.New("not this one")
	_, err = settings.Update(t.Context(), "alice", func(s policy.UserSettings) (policy.UserSettings, error) {
		return s, refused
	})
	require.Equal(t, refused, err)

	_, err = settings.Update(t.Context(), "alice", func(s policy.UserSettings) (policy.UserSettings, error) {
		s.Contact = "changed@example.org"
		return s, settings.Set(t.Context(), "alice", policy.UserSettings{Policy: "vip"})
	})
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away, "somebody is faster each time")
}

func TestThePolicyOfAUser(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("p", "Europe/Berlin", "1/minute", "10/calendar_day", "20/calendar_day", "5/hour")
	require.NoError(t, err)
	settings := fullSettings()
	require.Equal(t, "3/minute, 20/calendar_day, 5/hour (Europe/Berlin)", p.For(settings).String(), "one limit for a window is the user's")
	require.Equal(t, "Asia/Tokyo", p.QuietZone(settings), "quiet hours are the user's own")
	require.NoError(t, p.CheckSettings(settings))

	p.UserTimeZone = true
	require.Equal(t, "Asia/Tokyo", p.For(settings).TimeZone)
	settings.TimeZone = ""
	require.Equal(t, "Europe/Berlin", p.For(settings).TimeZone)
	require.Equal(t, "Europe/Berlin", p.QuietZone(settings))
	require.True(t, p.For(policy.UserSettings{Contact: "ada@example.org"}).Equal(p))
	require.Len(t, p.Rules, 4, "the policy itself stays as it was")

	settings.Limits = append(settings.Limits, policy.Rule{Limit: 1, Window: 24 * time.Hour}) // not the natural day
	want := story.Invalid(t, p.CheckSettings(settings), "limits", "1/day")
	require.True(t, strings.HasPrefix(want, "the limit 1/day replaces no rule, as policy p has no rule with this window: it has 1/minute, "), want)
	require.Equal(t, append(p.For(fullSettings()).Rules, settings.Limits[len(settings.Limits)-1]), p.For(settings).Rules, "it applies beside them")
}

func TestPolicyAlertsAreKept(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	for _, row := range []struct {
		alertAt []int
		alertTo string
		stored  string
	}{
		{nil, "", `{"name":"test","rules":["1/day"],"version":1}`},
		{[]int{}, "", `{"name":"test","rules":["1/day"],"alert_at":[],"version":2}`},
		{[]int{1, 100}, "ops@example.com", `{"name":"test","rules":["1/day"],"alert_at":[1,100],"alert_to":"ops@example.com","version":3}`},
	} {
		policy := story.PolicyOf(t, "1/day")
		policy.AlertAt, policy.AlertTo = row.alertAt, row.alertTo
		require.NoError(t, policies.Apply(t.Context(), policy))
		require.Equal(t, row.stored, server.HGet("sl:{policies}:stored", "test"))
		loaded, _, err := policies.Load(t.Context(), "test")
		require.NoError(t, err)
		require.True(t, policy.Equal(loaded))
	}
}
