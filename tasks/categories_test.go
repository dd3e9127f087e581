package tasks_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
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

// Moving obeys the rules of the message's category, and quiet hours.
func TestMovesOfCategories(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.campaign()
		s.accepted(of("marketing", "m1", "12:00:00"), of("marketing", "m2", "14:00:00"), of("otp", "o", "15:00:00"))
		o, err := s.Move(s.Context(), "alice", "m2", on("12:30:00"))
		require.NoError(s, err)
		require.Equal(s, "marketing 1/hour", o.RefusedBy())
		o, err = s.Move(s.Context(), "alice", "m2", on("22:30:00"))
		require.NoError(s, err)
		require.Equal(s, fault.CodeQuietHours, o.Code)
		require.Equal(s, on("21:00:00"), o.QuietHours.From.Time)
		o, err = s.Move(s.Context(), "alice", "o", on("22:30:00"))
		require.NoError(s, err)
		require.Equal(s, message.Moved, o.Outcome)
	})
}

func TestUsageOfCategories(t *testing.T) {
	tellAt11(t, func(s *story) {
		s.campaign()
		s.accepted(of("marketing", "m1", "12:00:00"), to("a", "16:00:00"))
		r := sendlimit.UsageRequest{
			User: "alice", Category: "marketing", At: on("12:00:00"), From: on("11:00:00"), To: on("22:00:00"),
		}
		u, err := s.Usage(s.Context(), r)
		require.NoError(s, err)
		usage := submit.UsageOf(r, u, nil)
		used := map[string]int{}
		for _, rule := range usage.Rules {
			used[rule.Category+" "+rule.Rule] = rule.Used
		}
		require.Equal(s, map[string]int{
			" 1/minute": 1, " 5/hour": 1, " 10/calendar_day": 2, "marketing 2/calendar_day": 1, "marketing 1/hour": 1,
		}, used)
		require.Equal(s, []message.Stretch{{From: message.Time{Time: on("21:00:00")}, Until: message.Time{Time: on("22:00:00")}}}, usage.Quiet)
		require.Equal(s, message.Stretch{From: message.Time{Time: on("13:00:00")}, Until: message.Time{Time: on("15:59:00.001")}}, usage.Free[1], "between an hour after the one and a minute before the other")
		free, err := s.NextFree(s.Context(), sendlimit.NextFreeRequest{User: "alice", Category: "marketing", From: on("11:30:00"), Count: 2})
		require.NoError(s, err)
		require.Equal(s, []time.Time{on("13:00:00"), on("07:00:00").AddDate(0, 0, 1)}, free)
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
