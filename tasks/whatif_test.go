package tasks_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// rehearses is what a dry run under other rules answers to messages, by the rule
// that refuses each, "" for none.
func (s *story) rehearses(w rules.WhatIf, messages ...message.Message) []string {
	s.Helper()
	rehearsal, err := s.RehearseWhatIf(s.Context(), w)
	require.NoError(s, err)
	refused := make([]string, len(messages))
	for i, m := range messages {
		o, err := rehearsal.Submit(s.Context(), m)
		require.NoError(s, err)
		refused[i] = o.RefusedBy()
		require.Equal(s, refused[i] == "", o.OK(), "%+v", o)
	}
	if w.Policy != nil {
		require.Equal(s, w.Policy.Name, rehearsal.Policy().Name)
	}
	require.NoError(s, rehearsal.Close(s.Context()))
	return refused
}

func TestWhatIf(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) { p.Name, p.Rules = "vip", rulesOf(s, "3/minute", "4/calendar_day") })
		s.set("bob", policy.UserSettings{Policy: "vip"})
		s.accepted(s.message("a", time.Hour))
		s.until(time.Minute)
		before := s.server.Dump()
		var messages []message.Message
		for i, user := range []string{"alice", "alice", "alice", "bob", "bob"} {
			m := s.message(string(rune('b'+i)), time.Hour+time.Duration(i+1)*20*time.Second)
			m.User = user
			messages = append(messages, m)
		}
		lax := policy.Default()
		lax.Rules = rulesOf(s, "100/minute")
		vip := lax
		vip.Name, vip.Rules = "vip", rulesOf(s, "1/hour")
		for _, row := range []struct {
			why    string
			what   rules.WhatIf
			refuse []string
		}{
			{"nothing changed", rules.WhatIf{}, []string{"1/minute", "1/minute", "", "", ""}},
			{
				"a rule replaced: bob has a policy of his own",
				rules.WhatIf{Rules: rulesOf(s, "2/minute")},
				[]string{"", "2/minute", "", "", ""},
			},
			{"a rule added", rules.WhatIf{Rules: rulesOf(s, "1/90s")}, []string{"1/minute", "1/minute", "1/90s", "", ""}},
			{"another policy for whoever has none of their own", rules.WhatIf{Policy: &lax}, []string{"", "", "", "", ""}},
			{"with a rule", rules.WhatIf{Policy: &lax, Rules: rulesOf(s, "2/hour")}, []string{"", "2/hour", "2/hour", "", ""}},
			{"another policy for those of its name", rules.WhatIf{Policy: &vip}, []string{"1/minute", "1/minute", "", "", "1/hour"}},
		} {
			require.Equal(s, row.refuse, s.rehearses(row.what, messages...), row.why)
		}
		require.Equal(s, before, s.server.Dump())

		for sentence, w := range map[string]rules.WhatIf{
			`the rule 3/minute has the window of another one: give one rule for each window`: {Rules: rulesOf(s, "2/minute", "3/minute")},
			`a policy needs at least one rule, such as 5/hour`:                               {Policy: &policy.Policy{Name: "none"}},
			`there is no policy "vipp": there are default, vip`: {
				Policy: &policy.Policy{Name: "vipp", Rules: rulesOf(s, "1/hour")},
			},
			`policy "No" is not allowed: it takes a name of 1 to 64 of a-z 0-9 _ -`: {Policy: &policy.Policy{Name: "No", Rules: rulesOf(s, "1/hour")}},
		} {
			_, err := s.RehearseWhatIf(s.Context(), w)
			refuses(s.T, err, sentence)
		}
	})
}

// What replaces one of two rules with the same window replaces both.
func TestWhatIfOverTwoRulesOfAWindow(t *testing.T) {
	tell(t, func(s *story) {
		require.NoError(s, s.server.Set("sl:policy:default", `{"name":"default","rules":["2/hour","1/minute","3/hour"],"version":2}`))
		s.until(2 * time.Second)
		for rule, want := range map[string]string{
			"4/hour": "4/hour, 1/minute", "2/minute": "2/hour, 2/minute, 3/hour", "5/day": "2/hour, 1/minute, 3/hour, 5/day",
		} {
			rehearsal, err := s.RehearseWhatIf(s.Context(), rules.WhatIf{Rules: rulesOf(s, rule)})
			require.NoError(s, err)
			require.Equal(s, want, rehearsal.Policy().String())
			require.NoError(s, rehearsal.Close(s.Context()))
		}
	})
}

// A dry run of very many users forgets those it is done with.
func TestRehearsalIsCleared(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		s.until(time.Minute)
		before := s.server.Dump()
		rehearsal, err := s.Rehearse(s.Context())
		require.NoError(s, err)
		require.Equal(s, "1/minute, 5/hour, 10/calendar_day", rehearsal.Policy().String())
		for range 2 {
			for i, refused := range []bool{false, true} {
				o, err := rehearsal.Submit(s.Context(), s.message(strconv.Itoa(i), 2*time.Hour+time.Duration(i)*time.Second))
				require.NoError(s, err)
				require.Equal(s, refused, !o.OK(), "%+v", o)
			}
			require.NotEqual(s, before, s.server.Dump())
			require.NoError(s, rehearsal.Clear(s.Context()))
			require.Equal(s, before, s.server.Dump())
		}
		require.NoError(s, rehearsal.Close(s.Context()))
	})
}
