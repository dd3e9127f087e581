package tasks_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Messages of a user that are submitted together have the outcomes that they have one after the
// other: whoever pays for them, and also if the quota ends among them. The store has the same then.
func TestManyAreSubmittedAsOneByOne(t *testing.T) {
	t.Parallel()
	all, fewer := 0, 0 // scripts
	for seed := range uint64(6) {
		one, calls := submitted(t, seed, func(s *story, ms []message.Message) (outcomes []message.Outcome) {
			for _, m := range ms {
				o, err := s.Submit(s.Context(), m)
				require.NoError(s, err)
				outcomes = append(outcomes, o)
			}
			return outcomes
		})
		all += calls
		many, calls := submitted(t, seed, func(s *story, ms []message.Message) []message.Outcome {
			outcomes, err := s.SubmitMany(s.Context(), ms)
			require.NoError(s, err)
			return outcomes
		})
		fewer += calls
		require.Equal(t, one, many, "seed %d", seed)
	}
	require.Less(t, fewer, all*19/20)
}

// submitted submits the random messages of a seed, those of a user in turn, and returns what became of
// them, and how many scripts were called.
func submitted(
	t *testing.T, seed uint64, together func(*story, []message.Message) []message.Outcome,
) (told []string, calls int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, queue.Polling{})
		random := rand.New(rand.NewPCG(seed, 7))
		s.policy(func(p *policy.Policy) {
			p.Rules = rulesOf(s, []string{"1/minute", "5/minute", "2/10m"}[random.IntN(3)], "30/calendar_day")
			p.OnConflict = []policy.OnConflict{policy.Refuse, policy.Refuse, policy.Shift}[random.IntN(3)]
		})
		counted := new(redistest.ScriptCalls)
		s.client.AddHook(counted)
		tier := accounts.Tier{}
		if seed%3 == 0 {
			tier = accounts.Tier{MessagesPerHour: 10 + random.Int64N(30), MessagesPerDay: 20 + random.Int64N(60)}
		}
		s.charges("acme", tier, "")
		messages := s.randomMessages(random, 150)
		for i := range messages {
			if random.IntN(4) > 0 {
				messages[i] = s.message(messages[i].ID, time.Duration(10+random.IntN(300))*time.Minute)
				messages[i].User = fmt.Sprintf("user-%d", random.IntN(5))
			}
		}
		account := []string{"", "acme"}[random.IntN(2)]
		slices.SortStableFunc(messages, func(a, b message.Message) int { return strings.Compare(a.User, b.User) })
		for user := range slices.Values([]string{"user-0", "user-1", "user-2", "user-3", "user-4"}) {
			var of []message.Message
			for _, m := range messages {
				if m.User == user {
					m.Account = account
					of = append(of, m)
				}
			}
			for ms := range slices.Chunk(of, submit.MaxMany) {
				calls += counted.During(func() {
					for i, o := range together(s, ms) {
						told = append(told, fmt.Sprintf("%s %s", ms[i].ID, s.spelled(o)))
					}
				})
			}
			synctest.Wait()
			time.Sleep(time.Second)
		}
		told = append(told, s.places()...)
	})
	return told, calls
}

// A message whose send time has passed is sent now if it or the user's policy says so, and else
// refused.
func TestMessagesThatComeLate(t *testing.T) {
	tellAt11(t, func(s *story) {
		late := func(id, clock, late string) message.Message {
			m := to(id, clock)
			m.User, m.Late = id, late
			return m
		}
		for _, m := range []message.Message{
			late("without", "10:59:00", ""), late("too-late", "10:44:59.999", "15m"), late("refuse", "10:59:00", "refuse"),
		} {
			o := s.submit(m)
			require.Equal(s, []any{message.Invalid, fault.CodeInPast, "send_at"}, []any{o.Outcome, o.Code, o.Field}, m.ID)
		}
		wrong := s.submit(late("wrong", "10:59:00", "soon"))
		require.Equal(s, `late "soon" is not allowed: use refuse, now, or how late a message may be, 1s to 7d in whole seconds, such as 15m`, wrong.Detail)

		yesterday := late("yesterday", "11:00:00", "now")
		yesterday.SendAt = yesterday.SendAt.Add(-24 * time.Hour)
		for _, m := range []message.Message{late("15m", "10:45:00", "15m"), yesterday} {
			want := message.Outcome{
				Outcome: message.Accepted, ID: m.ID, User: m.User, SendAt: message.Time{Time: on("11:00:00")},
				RequestedAt: message.Time{Time: m.SendAt}, Late: true,
			}
			checked, err := s.Check(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, want, checked)
			require.Equal(s, want, s.submit(m))
			want.Replayed = true
			s.server.SetTime(on("11:00:01"))
			require.Equal(s, want, s.submit(m), "again")
			s.server.SetTime(on("11:00:00"))
		}
		future := late("future", "11:00:30", "now")
		require.Equal(s, message.Outcome{Outcome: message.Accepted, ID: "future", User: "future", SendAt: message.Time{Time: on("11:00:30")}}, s.submit(future))
		s.server.SetTime(on("11:00:40"))
		require.Equal(s, on("11:00:30"), s.submit(future).SendAt.Time, "it was accepted when its time had not passed")
	})
}

// Rules judge a late message as one for now: it takes the next free time, unless it says otherwise.
func TestLateMessagesKeepTheRules(t *testing.T) {
	tellAt11(t, func(s *story) {
		p := policy.Default()
		p.Late = time.Hour
		policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
		require.NoError(s, policies.Apply(s.Context(), p))
		s.Submitter = s.newSubmitter(submit.Options{})
		first, second, third := to("a", "10:30:00"), to("b", "10:31:00"), to("c", "10:32:00")
		third.OnConflict = message.OnConflictRefuse
		outcomes, err := s.SubmitMany(s.Context(), []message.Message{first, second, third})
		require.NoError(s, err)
		require.Equal(s, []any{true, on("11:00:00"), on("10:30:00"), false},
			[]any{outcomes[0].Late, outcomes[0].SendAt.Time, outcomes[0].RequestedAt.Time, outcomes[0].Shifted})
		require.Equal(s, []any{true, on("11:01:00"), on("10:31:00"), true},
			[]any{outcomes[1].Late, outcomes[1].SendAt.Time, outcomes[1].RequestedAt.Time, outcomes[1].Shifted})
		require.Equal(s, []any{message.Refused, fault.CodeSendLimit, false}, []any{outcomes[2].Outcome, outcomes[2].Code, outcomes[2].Late})
		again := s.submit(second)
		require.Equal(s, []any{true, true, on("11:01:00")}, []any{again.Replayed, again.Late, again.SendAt.Time})
	})
}

// The account pays for the hour in which the message is sent.
func TestLateMessagesAreCharged(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 1, MessagesPerDay: 2}, "UTC")
		time.Sleep(90 * time.Minute)
		first, second := s.paid("1", -time.Hour), s.paid("2", -time.Hour)
		first.Late, second.Late, second.OnConflict = policy.LateNow, policy.LateNow, message.OnConflictRefuse
		o := s.submit(first)
		require.Equal(t, []any{message.Accepted, true}, []any{o.Outcome, o.Late}, o.Detail)
		require.Equal(t, fault.CodeQuotaExceeded, s.submit(second).Code)
		s.requireCharges(map[string]*time.Location{"acme": time.UTC}, map[string][]string{"user-1": {"1"}})
	})
}

// A message that came in time is not late because it was moved since.
func TestAMovedMessageIsNotLate(t *testing.T) {
	tellAt11(t, func(s *story) {
		m := to("a", "11:10:00")
		s.accepted(m)
		for _, clock := range []string{"11:20:00", "11:30:00"} {
			moved, err := s.Move(s.Context(), "alice", "a", on(clock))
			require.NoError(s, err)
			require.Equal(s, message.Moved, moved.Outcome)
			again := s.submit(m)
			require.True(s, again.Replayed)
			require.False(s, again.Late, clock)
		}
	})
}
