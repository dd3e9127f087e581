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
