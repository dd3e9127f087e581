package tasks_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// randomMessages are messages of a few users within a few hours: many collide, some repeat an earlier
// one or its id, some are invalid, and some use up the quota of an account or a throttle.
func (s *story) randomMessages(random *rand.Rand, n int) []message.Message {
	messages := make([]message.Message, n)
	for i := range messages {
		m := s.message(fmt.Sprintf("m%d", i), time.Duration(random.Int64N(3*3600*1000))*time.Millisecond)
		m.User = fmt.Sprintf("user-%d", random.IntN(5))
		m.Account, m.Category = []string{"", "", "acme"}[random.IntN(3)], []string{"", "", "marketing"}[random.IntN(3)]
		switch random.IntN(10) {
		case 0:
			m.Now, m.SendAt = true, time.Time{}
		case 1, 2:
			m.OnConflict = message.OnConflictShift
		case 3:
			m.OnConflict, m.ShiftUntil = message.OnConflictShift, m.SendAt.Add(time.Minute)
		case 4:
			m.SendAt = s.at(-time.Duration(random.IntN(10)) * time.Second) // within the grace or not
		case 5:
			m.ExpiresAt = m.SendAt.Add(time.Duration(random.IntN(3)-1) * time.Minute) // or no message at all
		case 6:
			if i > 0 {
				m = messages[random.IntN(i)]
			}
		case 7:
			if i > 0 {
				m.ID, m.User = messages[i-1].ID, messages[i-1].User
			}
		}
		messages[i] = m
	}
	return messages
}

// A dry run answers word for word what the real run then does, over what is
// already reserved, and leaves not a key behind.
func TestADryRunIsAsTheRealRun(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			tell(t, func(s *story) {
				random := rand.New(rand.NewPCG(seed, 1))
				s.throttle("3/hour")
				s.charges("acme", accounts.Tier{MessagesPerHour: 6, MessagesPerDay: 30}, "")
				for _, m := range s.randomMessages(random, 60) { // what is there already
					s.submit(m)
				}
				s.until(time.Minute)
				messages := s.randomMessages(random, 150)
				synctest.Wait()

				before := s.server.Dump()
				dryRun, err := s.StartDryRun(s.Context())
				require.NoError(s, err)
				dryRunMessages := make([]string, len(messages))
				for i, m := range messages {
					o, err := dryRun.Submit(s.Context(), m)
					require.NoError(s, err)
					dryRunMessages[i] = s.spelled(o)
				}
				require.NotEqual(s, before, s.server.Dump(), "it works on copies")
				require.NoError(s, dryRun.Close(s.Context()))
				require.Equal(s, before, s.server.Dump())

				counts := map[string]int{}
				for i, m := range messages {
					o := s.submit(m)
					require.Equal(s, s.spelled(o), dryRunMessages[i], "message %d: %+v", i, m)
					counts[o.Outcome]++
					counts[string(o.Code)]++
				}
				for _, told := range []string{message.Accepted, message.Refused, message.Invalid, "throttled", "quota_exceeded"} {
					require.Greater(s, counts[told], 5, told)
				}
			})
		})
	}
}

func (s *story) spelled(o message.Outcome) string {
	s.Helper()
	text, err := json.Marshal(o)
	require.NoError(s, err)
	return string(text)
}

// Two dry runs and the real thing at the same time know nothing of each other.
func TestDryRunsAreApart(t *testing.T) {
	tell(t, func(s *story) {
		first, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		second, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		for _, submit := range []func() (message.Outcome, error){
			func() (message.Outcome, error) { return first.Submit(s.Context(), s.message("a", time.Hour)) },
			func() (message.Outcome, error) { return second.Submit(s.Context(), s.message("b", time.Hour)) },
			func() (message.Outcome, error) { return s.Submit(s.Context(), s.message("c", time.Hour)) },
		} {
			o, err := submit()
			require.NoError(s, err)
			require.Equal(s, message.Accepted, o.Outcome)
		}
		require.NoError(s, first.Close(s.Context()))
		o, err := second.Submit(s.Context(), s.message("d", time.Hour))
		require.NoError(s, err)
		require.Equal(s, "b", o.Violations[0].Conflicts[0].ID)
		require.NoError(s, second.Close(s.Context()))
		require.Equal(s, []string{"c"}, s.places())
		require.Equal(s, 1, s.queued(), "nothing dryRunMessages is queued")
	})
}

// dryRuns is what a dry run under other rules answers to messages, by the rule
// that refuses each, "" for none.
func (s *story) dryRuns(w rules.WhatIf, messages ...message.Message) []string {
	s.Helper()
	dryRun, err := s.StartDryRunWhatIf(s.Context(), w)
	require.NoError(s, err)
	refused := make([]string, len(messages))
	for i, m := range messages {
		o, err := dryRun.Submit(s.Context(), m)
		require.NoError(s, err)
		refused[i] = o.RefusedBy()
		require.Equal(s, refused[i] == "", o.OK(), "%+v", o)
	}
	if w.Policy != nil {
		require.Equal(s, w.Policy.Name, dryRun.Policy().Name)
	}
	require.NoError(s, dryRun.Close(s.Context()))
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
			require.Equal(s, row.refuse, s.dryRuns(row.what, messages...), row.why)
		}
		require.Equal(s, before, s.server.Dump())

		for sentence, w := range map[string]rules.WhatIf{
			`the rule 3/minute has the window of another one: give one rule for each window`: {Rules: rulesOf(s, "2/minute", "3/minute")},
			`a policy needs at least one rule, such as 5/hour`:                               {Policy: &policy.Policy{Name: "none"}},
			`there is no policy "vipp": there are default, vip`: {
				Policy: &policy.Policy{Name: "vipp", Rules: rulesOf(s, "1/hour")},
			},
			`policy "No" is not allowed: use a name of 1 to 64 of a-z 0-9 _ -`: {Policy: &policy.Policy{Name: "No", Rules: rulesOf(s, "1/hour")}},
		} {
			_, err := s.StartDryRunWhatIf(s.Context(), w)
			refuses(s.T, err, sentence)
		}
	})
}

// What replaces one of two rules with the same window replaces both.
func TestWhatIfOverTwoRulesOfAWindow(t *testing.T) {
	tell(t, func(s *story) {
		s.server.HSet("sl:{policies}:stored", "default", `{"name":"default","rules":["2/hour","1/minute","3/hour"],"version":2}`)
		s.until(2 * time.Second)
		for rule, want := range map[string]string{
			"4/hour": "4/hour, 1/minute", "2/minute": "2/hour, 2/minute, 3/hour", "5/day": "2/hour, 1/minute, 3/hour, 5/day",
		} {
			dryRun, err := s.StartDryRunWhatIf(s.Context(), rules.WhatIf{Rules: rulesOf(s, rule)})
			require.NoError(s, err)
			require.Equal(s, want, dryRun.Policy().String())
			require.NoError(s, dryRun.Close(s.Context()))
		}
	})
}

// A dry run of very many users forgets those it is done with.
func TestADryRunIsCleared(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		s.until(time.Minute)
		before := s.server.Dump()
		dryRun, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		require.Equal(s, "1/minute, 5/hour, 10/calendar_day", dryRun.Policy().String())
		for range 2 {
			for i, refused := range []bool{false, true} {
				o, err := dryRun.Submit(s.Context(), s.message(strconv.Itoa(i), 2*time.Hour+time.Duration(i)*time.Second))
				require.NoError(s, err)
				require.Equal(s, refused, !o.OK(), "%+v", o)
			}
			require.NotEqual(s, before, s.server.Dump())
			require.NoError(s, dryRun.Clear(s.Context()))
			require.Equal(s, before, s.server.Dump())
		}
		require.NoError(s, dryRun.Close(s.Context()))
	})
}
