package tasks_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// campaign is a policy that has everything.
func (s *story) campaign() {
	s.Helper()
	s.policy(func(p *policy.Policy) {
		p.TimeZone, p.QuietHours = "Europe/Berlin", quiet(s, "22:00-08:00", "sun 00:00-12:00")
		p.Categories = map[string]policy.CategoryRules{
			"marketing": {Rules: rulesOf(s, "2/calendar_day", "1/hour")},
			"otp":       {Exempt: true}, "codes": {Exempt: true, Uncounted: true},
		}
	})
}

// of is a message of a category to alice at a time of day.
func of(category, id, clock string) message.Message {
	m := to(id, clock)
	m.Category = category
	return m
}

// 2026-11-22 is a Sunday, and it is an hour later in Berlin.
func TestRefusalsByCategoriesAndQuietHours(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.campaign()
		requireJSON(s.T, `{"outcome":"refused","code":"quiet_hours","id":"a","user":"alice","send_at":"2026-11-22T21:30:00.000Z",`+
			`"detail":"21:30:00 is in the quiet hours of alice (22:00-08:00 in Europe/Berlin, where it is 22:30 then);`+
			` the next free time is 2026-11-23 07:00:00",`+
			`"quiet_hours":{"hours":"22:00-08:00","time_zone":"Europe/Berlin","from":"2026-11-22T21:00:00.000Z","until":"2026-11-23T07:00:00.000Z"},`+
			`"next_free_at":"2026-11-23T07:00:00.000Z","previous_free_at":"2026-11-22T20:59:59.999Z"}`,
			s.submit(to("a", "21:30:00")))

		s.accepted(of("marketing", "m1", "12:00:00"), to("plain", "12:30:00"))
		o := s.submit(of("marketing", "m2", "12:59:59"))
		require.Equal(s, "alice already has a marketing message at 12:00:00, within 1 hour; the next free time is 13:00:00", o.Detail)
		require.Equal(s, "marketing 1/hour", o.RefusedBy())
		text, err := json.Marshal(o.Violations)
		require.NoError(s, err)
		require.JSONEq(s, `[{"rule":"1/hour","category":"marketing","limit":1,"kind":"sliding","window_seconds":3600,`+
			`"conflicts":[{"id":"m1","send_at":"2026-11-22T12:00:00.000Z"}],"conflicts_total":1}]`, string(text))
		s.accepted(of("marketing", "m2", "13:00:00"))
		o = s.submit(of("marketing", "m3", "15:00:00"))
		require.Equal(s, "alice already has 2 marketing messages on that day, and 2 is the limit; the next free time is 2026-11-23 07:00:00", o.Detail)
		require.Equal(s, "1/minute", s.submit(of("marketing", "m3", "12:30:10")).RefusedBy(), "the overall rules come first")

		both := s.submit(to("x", "21:00:30"))
		require.Equal(s, fault.CodeQuietHours, both.Code)
		require.Empty(s, both.RefusedBy())
		s.accepted(of("otp", "o1", "21:00:00"), of("codes", "c1", "21:00:10"), of("codes", "c2", "21:00:10"))
		both = s.submit(to("x", "21:00:30"))
		require.Equal(s, fault.CodeQuietHours, both.Code, "it is said first")
		require.Equal(s, "o1", both.Violations[0].Conflicts[0].ID, "and what would break, too")
		require.Equal(s, 1, both.Violations[0].ConflictsTotal, "what does not count is not in the way")

		s.set("alice", policy.UserSettings{Blocked: true})
		requireJSON(s.T, `{"outcome":"refused","code":"blocked","id":"x","user":"alice","send_at":"2026-11-22T21:00:30.000Z",`+
			`"detail":"alice is blocked: nothing is accepted for this user until the block is lifted"}`,
			s.submit(to("x", "21:00:30")))
	})
}

// What a message does not say about a conflict its user's policy does.
func TestOnConflictOfThePolicy(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.policy(func(p *policy.Policy) { p.OnConflict = policy.Shift })
		s.accepted(to("a", "12:00:00"))
		m := to("b", "12:00:30")
		o := s.submit(m)
		require.Equal(s, on("12:01:00"), o.SendAt.Time)
		require.True(s, o.Shifted)
		require.True(s, s.submit(m).Replayed)
		m.OnConflict = message.OnConflictShift
		require.Equal(s, fault.CodeIDReused, s.submit(m).Code, "what was sent is compared, not what it means")

		m = to("c", "12:00:30")
		m.OnConflict = message.OnConflictRefuse
		require.Equal(s, fault.CodeSendLimit, s.submit(m).Code, "a message comes first")

		s.policy(func(p *policy.Policy) { p.Name, p.Rules = "strict", rulesOf(s, "1/calendar_week") })
		s.set("alice", policy.UserSettings{Policy: "strict"})
		require.Equal(s, fault.CodeSendLimit, s.submit(to("d", "12:30:00")).Code)
		s.policy(func(p *policy.Policy) {
			p.Name, p.Rules, p.OnConflict = "patient", rulesOf(s, "1/calendar_week"), policy.Shift
		})
		s.set("alice", policy.UserSettings{Policy: "patient"})
		o = s.submit(to("d", "12:30:00")) // a Sunday
		require.Equal(s, on("00:00:00").AddDate(0, 0, 1), o.SendAt.Time)
		require.Equal(s, fault.CodeSendLimit, s.submit(to("e", "12:40:00")).Code, "a shift goes no further than a day")
	})
}

// Labels are the rules of policies, and never numbers that users have of their own.
func TestRefusalsAreCountedByRulesOfPolicies(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.campaign()
		m, registry := newMetrics(s.T)
		s.shared.Metrics = m
		s.Submitter = s.newSubmitter(submit.Options{})
		s.accepted(of("marketing", "m1", "12:00:00"))
		s.submit(of("marketing", "m2", "12:30:00"))
		s.submit(to("a", "12:00:10"))
		s.submit(to("a", "23:00:00"))
		s.set("alice", policy.UserSettings{Limits: rulesOf(s, "1/hour")})
		s.submit(to("a", "12:30:00"))
		s.set("alice", policy.UserSettings{Blocked: true})
		s.submit(to("a", "12:30:00"))
		lines := measured(s.T, registry)
		for _, line := range []string{
			"submits_total send_limit refused marketing 1/hour", "submits_total send_limit refused 1/minute",
			"submits_total send_limit refused own/hour", "submits_total quiet_hours refused", "submits_total blocked refused",
		} {
			require.InDelta(s, 1, lines[line], 0, "%s of %v", line, lines)
		}
	})
}
