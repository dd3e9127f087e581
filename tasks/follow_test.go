package tasks_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	stories "github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// setsFor stores settings of a user, and returns them with their version: a change that was killed before it
// did anything with messages.
func (s *story) setsFor(user string, own policy.UserSettings) policy.UserSettings {
	s.Helper()
	users := settings.NewUsers(s.client, keyspace.KeysUnder(""))
	require.NoError(s, users.Set(s.Context(), user, own))
	stored, err := users.Get(s.Context(), user)
	require.NoError(s, err)
	return stored
}

// follows stores settings of alice, and does what they ask for.
func (s *story) follows(own policy.UserSettings) message.FollowThrough {
	s.Helper()
	f, err := s.refitter().Follow(s.Context(), "alice", s.setsFor("alice", own))
	require.NoError(s, err)
	return f
}

// stands is what became of messages of alice: "a pending +2h0m0s" or "a dropped blocked".
func (s *story) stands(ids ...string) []string {
	s.Helper()
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		status := s.status(id)
		last := status.History[len(status.History)-1]
		if slices.Contains([]string{"scheduled", "moved"}, status.Status) {
			all = append(all, fmt.Sprintf("%s pending +%s %s", id, status.SendAt.Sub(s.began), last.Reason))
		} else {
			all = append(all, fmt.Sprintf("%s %s %s", id, status.Status, last.Reason))
		}
	}
	return all
}

// A change of settings does with the messages that do not fit what it asks for, and the history says why.
func TestAChangeOfSettingsFollowsThrough(t *testing.T) {
	quiet := stories.QuietHours(t, "03:00-04:00")
	for _, row := range []struct {
		name   string
		own    policy.UserSettings
		counts []int // affected, moved, dropped
		stand  []string
	}{
		{"quiet hours stay", policy.UserSettings{QuietHours: quiet}, []int{2, 0, 0}, []string{"a pending +1h0m0s ", "b pending +3h0m0s ", "c pending +3h30m0s ", "d pending +3h45m0s "}},
		{"quiet hours shift", policy.UserSettings{QuietHours: quiet, Then: policy.ThenShift}, []int{2, 1, 1}, []string{"a pending +1h0m0s ", "b pending +4h0m0s settings_changed", "c dropped no_free_time", "d pending +3h45m0s "}},
		{"quiet hours drop", policy.UserSettings{QuietHours: quiet, Then: policy.ThenDrop}, []int{2, 0, 2}, []string{"a pending +1h0m0s ", "b dropped settings_changed", "c dropped settings_changed", "d pending +3h45m0s "}},
		{"a limit shifts", policy.UserSettings{Limits: stories.LimitsOf(t, "1/calendar_day"), Then: policy.ThenShift}, []int{2, 1, 1}, []string{"a pending +1h0m0s ", "b pending +24h0m0s settings_changed", "c dropped no_free_time", "d pending +3h45m0s "}},
		{"do not disturb shifts", policy.UserSettings{DoNotDisturbUntil: time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC), Then: policy.ThenShift}, []int{1, 1, 0}, []string{"a pending +2h0m0s settings_changed", "b pending +3h0m0s ", "c pending +3h30m0s ", "d pending +3h45m0s "}},
		{"opt-outs drop", policy.UserSettings{OptOut: []string{"codes"}, Then: policy.ThenShift}, []int{1, 0, 1}, []string{"a pending +1h0m0s ", "b pending +3h0m0s ", "c pending +3h30m0s ", "d dropped opted_out"}},
		{"all but exempt", policy.UserSettings{OptOut: []string{"all"}, Then: policy.ThenDrop}, []int{3, 0, 3}, []string{"a dropped opted_out", "b dropped opted_out", "c dropped opted_out", "d pending +3h45m0s "}},
		{"a block drops", policy.UserSettings{Blocked: true, Then: policy.ThenShift}, []int{4, 0, 4}, []string{"a dropped blocked", "b dropped blocked", "c dropped blocked", "d dropped blocked"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tell(t, func(s *story) {
				p := s.policyOf("1/minute", "10/calendar_day")
				p.Categories = map[string]policy.CategoryRules{"codes": {Exempt: true, Uncounted: true}}
				require.NoError(s, settings.NewPolicies(s.client, keyspace.KeysUnder("")).Apply(s.Context(), p))
				c, d := s.message("c", 210*time.Minute), s.message("d", 225*time.Minute)
				c.ExpiresAt, d.Category = s.at(235*time.Minute), "codes"
				s.accepted(s.message("a", time.Hour), s.message("b", 3*time.Hour), c, d)
				proposed, err := s.refitter().Preview(s.Context(), "alice", row.own)
				require.NoError(s, err)
				require.Len(s, proposed.Messages, row.counts[0], "%+v", proposed)
				f := s.follows(row.own)
				require.Equal(s, row.counts, append([]int{}, f.Affected, f.Moved, f.Dropped))
				require.True(s, f.Complete)
				require.Equal(s, row.stand, s.stands("a", "b", "c", "d"))
				stored, err := settings.NewUsers(s.client, keyspace.KeysUnder("")).Get(s.Context(), "alice")
				require.NoError(s, err)
				require.False(s, stored.Then.Pending())
			})
		})
	}
}

// keep sends messages as planned, also in quiet hours of the user, until the settings change again.
func TestKeepIsStoredWithTheSettings(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		quiet := policy.UserSettings{QuietHours: stories.QuietHours(s.T, "00:30-03:00"), Then: policy.ThenKeep}
		require.Equal(s, message.FollowThrough{Then: "keep", Affected: 2, Complete: true}, s.follows(quiet))
		s.workWhereDue(61 * time.Minute)
		s.delivered("a +1h0m0s")
		quiet.Then = ""
		s.follows(quiet)
		s.workWhereDue(4 * time.Hour)
		s.delivered("a +1h0m0s", "b +3h0m0s")
	})
}

// A worker continues what a killed program began, and a newer change ends it. What was dropped stays dropped.
func TestAFollowThroughIsContinued(t *testing.T) {
	tell(t, func(s *story) {
		for k := range 6 {
			s.accepted(s.message("m"+strconv.Itoa(k), time.Hour+time.Duration(k)*time.Minute))
		}
		quiet := policy.UserSettings{QuietHours: stories.QuietHours(s.T, "01:00-02:00"), Then: policy.ThenDrop}
		killed := s.setsFor("alice", quiet)
		client := s.newClient()
		redistest.DoAfterCalls(s.T, client, lua.Release, 1, func() { _ = client.Close() })
		r, err := refit.New(taskstest.Open(s, client, s.shared), refit.Options{})
		require.NoError(s, err)
		_, err = r.Follow(s.Context(), "alice", killed)
		require.Error(s, err)
		_ = r.Close()
		dropped := func() (n int) {
			for k := range 6 {
				if s.status("m"+strconv.Itoa(k)).Status == "dropped" {
					n++
				}
			}
			return n
		}
		require.Less(s, dropped(), 6)
		quiet.QuietHours, quiet.Then = stories.QuietHours(s.T, "01:00-01:03"), policy.ThenShift
		s.setsFor("alice", quiet)
		before := dropped()
		stop := s.work()
		s.until(50 * time.Minute)
		stop()
		require.Equal(s, before, dropped(), "what was dropped, and nothing else")
		for k := before; k < 6; k++ {
			require.False(s, s.status("m"+strconv.Itoa(k)).SendAt.Before(s.at(63*time.Minute)))
		}
		f, err := s.refitter().Follow(s.Context(), "alice", killed)
		require.NoError(s, err)
		require.False(s, f.Complete, "newer settings decide")
		left, err := s.client.Keys(s.Context(), "sl:turn:follow:*").Result()
		require.NoError(s, err)
		require.Empty(s, left)
	}, "1/minute")
}

// A change of the time zone with a full day moves what does not fit to other days, with its charges.
func TestAZoneChangeKeepsChargesExact(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 20, MessagesPerDay: 6}, "")
		p := s.policyOf("3/calendar_day")
		p.UserTimeZone = true
		require.NoError(s, settings.NewPolicies(s.client, keyspace.KeysUnder("")).Apply(s.Context(), p))
		var ids []string
		for k := range 12 { // three a day of UTC, late in one and early in the next
			at := time.Duration(k/3)*24*time.Hour + time.Duration(21+k%3)*time.Hour
			if k/3%2 == 1 {
				at -= 20 * time.Hour
			}
			m := s.message("z"+strconv.Itoa(k), at)
			m.Account = "acme"
			s.accepted(m)
			ids = append(ids, m.ID)
		}
		f := s.follows(policy.UserSettings{TimeZone: "Asia/Tokyo", Then: policy.ThenShift})
		require.True(s, f.Complete)
		require.Positive(s, f.Moved+f.Dropped)
		s.requireCharges(nil, map[string][]string{"alice": ids})
		again, err := s.refitter().Preview(s.Context(), "alice", policy.UserSettings{TimeZone: "Asia/Tokyo"})
		require.NoError(s, err)
		require.Zero(s, again.Affected, "%+v", again.Messages)
	})
}

// A preview finds by random settings what plain reasoning finds, and afterwards nothing is left that does not fit.
func TestPreviewsAgreeWithPlainReasoning(t *testing.T) {
	tell(t, func(s *story) {
		seed := rand.Uint64()
		s.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 7))
		p := s.policyOf("500/calendar_day")
		p.UnknownCategories = policy.AllowUnknown
		p.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true}, "codes": {Exempt: true, Uncounted: true}, "news": {Rules: stories.LimitsOf(s.T, "400/day")}}
		require.NoError(s, settings.NewPolicies(s.client, keyspace.KeysUnder("")).Apply(s.Context(), p))
		categories := []string{"", "otp", "codes", "news", "other"}
		found := 0
		for round := range 40 {
			user := "user" + strconv.Itoa(round)
			var own policy.UserSettings
			own.Blocked = random.IntN(8) == 0
			for _, name := range append(categories[1:], "all") {
				if random.IntN(5) == 0 {
					own.OptOut = append(own.OptOut, name)
				}
			}
			if random.IntN(2) == 0 {
				own.QuietHours = stories.QuietHours(s.T, "02:00-04:30")
			}
			if random.IntN(3) == 0 {
				own.DoNotDisturbUntil = s.at(time.Duration(random.IntN(6)) * time.Hour)
			}
			var want []string
			for k := range random.IntN(12) {
				m := s.message("m"+strconv.Itoa(k), time.Duration(10+random.IntN(590))*time.Minute)
				m.User, m.Category = user, categories[random.IntN(len(categories))]
				s.accepted(m)
				exempt := m.Category == "otp" || m.Category == "codes"
				hour := m.SendAt.Sub(s.began).Hours()
				switch {
				case own.Blocked,
					m.Category != "" && slices.Contains(own.OptOut, m.Category),
					!exempt && slices.Contains(own.OptOut, "all"),
					!exempt && m.SendAt.Before(own.DoNotDisturbUntil),
					!exempt && !own.QuietHours.IsZero() && hour >= 2 && hour < 4.5:
					want = append(want, m.ID)
				}
			}
			preview, err := s.refitter().Preview(s.Context(), user, own)
			require.NoError(s, err)
			got := make([]string, 0, len(preview.Messages))
			for _, m := range preview.Messages {
				got = append(got, m.ID)
			}
			require.ElementsMatch(s, want, got, "%+v", own)
			own.Then = []policy.Then{policy.ThenShift, policy.ThenDrop}[random.IntN(2)]
			f, err := s.refitter().Follow(s.Context(), user, s.setsFor(user, own))
			require.NoError(s, err)
			require.Equal(s, []int{len(want), len(want)}, []int{f.Affected, f.Moved + f.Dropped}, "%+v", own)
			preview, err = s.refitter().Preview(s.Context(), user, own)
			require.NoError(s, err)
			require.Empty(s, preview.Messages, "%+v", own)
			found += len(want)
		}
		require.Greater(s, found, 30)
	})
}
