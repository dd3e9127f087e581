package quota_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// requests ask for messages of the account at times.
func (s *chargeStory) requests(times ...string) []quota.Request {
	var requests []quota.Request
	for i, at := range times {
		requests = append(requests, quota.Request{
			Account: s.account, Tier: s.tier, User: fmt.Sprintf("a user %d", i), ID: fmt.Sprint("m", i), At: story.At(at),
		})
	}
	return requests
}

func TestHoldsOfACallAreJudgedInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	calls := new(redistest.ScriptCalls)
	s.client.AddHook(calls)
	var answers []quota.Answer
	require.Equal(t, 1, calls.During(func() {
		answers = s.charges.HoldEach(t.Context(), s.requests("10:00", "10:30", "10:59", "11:00", "12:00")...)
	}), "one call")
	units := map[int]string{2: "hour", 4: "day"}
	for i, a := range answers {
		require.NoError(t, a.Err)
		require.Equal(t, units[i] == "", a.Charge.Allowed, i)
		require.Equal(t, units[i], a.Charge.UsedUp.Counter.Name, i)
	}
	require.Equal(t, []int64{1, 2, 2, 3, 3}, []int64{
		answers[0].Charge.Day.Used, answers[1].Charge.Day.Used, answers[2].Charge.Day.Used,
		answers[3].Charge.Day.Used, answers[4].Charge.Day.Used,
	})
	s.requireUsed(2, 3, story.At("10:00"))
	s.settle(answers[1].Charge.Hold, false)
	s.requireUsed(1, 2, story.At("10:00"))
	s.settle(answers[1].Charge.Hold, false)
	s.requireUsed(1, 2, story.At("10:00"))
}

// A request that is not valid, one for another account or with another quota, and a message
// to be sent now that is not of this hour get the answers that they get from Hold.
func TestEachHoldOfACallHasItsAnswer(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	requests := s.requests("10:00", "10:00", "10:00", "10:00", "10:00")
	requests[1].User = ""
	requests[2].Account.Name = "other"
	requests[3].Present = true
	requests[4].Tier.MessagesPerHour = 1
	answers := s.charges.HoldEach(t.Context(), requests...)
	require.True(t, answers[0].Charge.Allowed)
	_, invalid := errors.AsType[*fault.InvalidError](answers[1].Err)
	require.True(t, invalid, "%v", answers[1].Err)
	require.True(t, answers[2].Charge.Allowed)
	require.Equal(t, "other", answers[2].Charge.Hold.Account)
	require.Equal(t, fault.CodeOutsideHold, answers[3].Charge.Code)
	require.Equal(t, fault.CodeQuotaExceeded, answers[4].Charge.Code)
	require.Equal(t, int64(1), answers[4].Charge.UsedUp.Counter.Limit)
	s.requireUsed(1, 1, story.At("10:00"))
	require.Empty(t, s.charges.HoldEach(t.Context()))
}

// The client library repeats a call that timed out, also one of several holds.
func TestARepeatedCallOfHoldsChargesOnce(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	var repeated [][]any
	s.client.AddHook(redistest.Commands(repeatHook{&repeated}.onCommand))
	answers := s.charges.HoldEach(t.Context(), s.requests("10:00", "10:30")...)
	s.requireUsed(2, 2, story.At("10:00"))
	require.NotEmpty(t, repeated)
	for _, a := range answers {
		require.True(t, a.Charge.Allowed)
		require.Zero(t, a.Charge.Day, "what the first call answered is lost")
	}
	s.settle(answers[0].Charge.Hold, false)
	require.NoError(t, s.client.Do(t.Context(), repeated[0]...).Err(), "a copy that comes when one is over")
	s.requireUsed(1, 1, story.At("10:00"))
}

// A call of which one hold was refused is repeated after another one was settled.
func TestARepeatedCallKeepsWhatEachHoldIs(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	var calls [][]any
	s.client.AddHook(redistest.Commands(repeatHook{&calls}.onCommand))
	answers := s.charges.HoldEach(t.Context(), s.requests("10:00", "10:30", "10:59", "11:00")...)
	require.Equal(t, fault.CodeQuotaExceeded, answers[2].Charge.Code)
	s.requireUsed(2, 3, story.At("10:00"))
	s.settle(answers[0].Charge.Hold, true)
	s.settle(answers[3].Charge.Hold, false)
	require.NoError(t, s.client.Do(t.Context(), calls[0]...).Err())
	s.requireUsed(2, 2, story.At("10:00"))
	s.settle(answers[1].Charge.Hold, true)
	require.NoError(t, s.client.Do(t.Context(), calls[0]...).Err(), "a copy that comes when all is over")
	s.requireUsed(2, 2, story.At("10:00"))
	s.requireUsed(0, 2, story.At("11:00"))
	require.Zero(t, s.client.Exists(t.Context(), s.keys.Holds("acme")).Val())
}

// A program died after some holds of a call were settled: each other one ends as its record says,
// and one whose change may still be made stays open.
func TestHoldsOfACallAreResolvedOneByOne(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	s.tier.MessagesPerHour = 9
	requests := s.requests("10:00", "10:00", "11:00", "12:00")
	var holds []sendlimit.Hold
	for i, a := range s.charges.HoldEach(t.Context(), requests...) {
		holds = append(holds, a.Charge.Hold)
		require.Equal(t, i < 3, a.Charge.Allowed)
	}
	for i := range 2 {
		d, err := s.timeline.Reserve(t.Context(), sendlimit.Request{
			User: requests[i].User, ID: requests[i].ID, At: requests[i].At, Hold: &holds[i],
			Record: &sendlimit.Record{Generation: keyspace.NewToken()},
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	s.settle(holds[0], true)
	s.requireUsed(2, 3, story.At("10:00"))
	s.requireUsed(1, 3, story.At("11:00"))
	due, err := s.charges.Due(t.Context(), s.now.Add(time.Minute), 1)
	require.NoError(t, err)
	ends, _, err := s.charges.Resolve(t.Context(), due[0], time.Time{})
	require.NoError(t, err)
	require.ElementsMatch(t, []quota.HoldEnd{quota.HoldCharged, quota.HoldOpen}, ends)
	s.wait(20 * time.Second)
	ends, _ = s.relay()
	require.Equal(t, []quota.HoldEnd{quota.HoldGivenBack}, ends)
	s.requireUsed(2, 2, story.At("10:00"))
	s.requireUsed(0, 2, story.At("11:00"))
	ends, _, err = s.charges.Resolve(t.Context(), due[0], time.Time{})
	require.NoError(t, err)
	require.Equal(t, []quota.HoldEnd{quota.HoldGone}, ends)
}

// Holds that are settled together raise the alerts that they raise one by one.
func TestHoldsSettledTogetherAlertOnce(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	s.tier = accounts.Tier{Name: "ten", MessagesPerDay: 10}
	var settlements []quota.Settlement
	for i, a := range s.charges.HoldEach(t.Context(), s.requests(strings.Split(strings.Repeat("10:00 ", 10), " ")[:10]...)...) {
		require.True(t, a.Charge.Allowed, i)
		settlements = append(settlements, quota.Settlement{Account: "acme", Attempt: a.Charge.Hold.Attempt, Made: true})
	}
	twice := append(settlements[:9:9], settlements[:9]...)
	raised, err := s.charges.Settle(t.Context(), time.Time{}, twice...)
	require.NoError(t, err)
	require.Equal(t, []string{notices.FormatID(notices.AccountQuota, story.At("00:00"), 80, "acme")}, raised)
	raised, err = s.charges.Settle(t.Context(), time.Time{}, settlements...)
	require.NoError(t, err)
	require.Equal(t, []string{notices.FormatID(notices.AccountQuota, story.At("00:00"), 100, "acme")}, raised)
}

// Random calls of many holds charge and answer as calls of one hold each do, in another
// store, and settling many together as settling each.
func TestHoldsTogetherAreHoldsOneByOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		together, single := newChargeStory(t), newChargeStory(t)
		var open [2][]quota.Settlement
		for range 12 {
			var requests []quota.Request
			for i := range 1 + random.IntN(6) {
				requests = append(requests, quota.Request{
					Account: accounts.Account{Name: []string{"acme", "acme", "beta"}[random.IntN(3)], Contact: "ops@example.com"},
					Tier:    accounts.Tier{Name: "t", MessagesPerHour: 3, MessagesPerDay: 8 + int64(random.IntN(8)/7)},
					User:    "u", ID: fmt.Sprint("m", i), Present: random.IntN(9) == 0,
					At: together.now.Add(time.Duration(random.IntN(50)) * time.Hour),
				})
			}
			var settled [2][]string
			answers := together.charges.HoldEach(t.Context(), requests...)
			for i, r := range requests {
				require.NoError(t, answers[i].Err)
				one, err := single.charges.Hold(t.Context(), r)
				require.NoError(t, err)
				for side, c := range []quota.Charge{answers[i].Charge, one} {
					if c.Allowed {
						open[side] = append(open[side], quota.Settlement{Account: c.Hold.Account, Attempt: c.Hold.Attempt})
					}
				}
				answers[i].Charge.Hold.Attempt, one.Hold.Attempt = "", ""
				require.Equal(t, one, answers[i].Charge, "seed %d", seed)
			}
			n := random.IntN(len(open[0]) + 1)
			for i := range n {
				made := random.IntN(3) > 0
				open[0][i].Made, open[1][i].Made = made, made
				raised, err := single.charges.Settle(t.Context(), time.Time{}, open[1][i])
				require.NoError(t, err)
				settled[1] = append(settled[1], raised...)
			}
			var err error
			settled[0], err = together.charges.Settle(t.Context(), time.Time{}, open[0][:n]...)
			require.NoError(t, err)
			require.ElementsMatch(t, settled[1], settled[0], "seed %d", seed)
			open[0], open[1] = open[0][n:], open[1][n:]
			require.Equal(t, single.stored(), together.stored(), "seed %d", seed)
			for _, s := range []*chargeStory{together, single} {
				s.wait(time.Duration(seed) * time.Minute)
			}
		}
	}
}

// stored returns the counters with what they live for, and how many holds are open.
func (s *chargeStory) stored() map[string]string {
	s.Helper()
	stored := make(map[string]string)
	for _, key := range s.server.Keys() {
		switch {
		case strings.Contains(key, "}:q:"):
			count, err := s.server.Get(key)
			require.NoError(s, err)
			stored[key] = fmt.Sprint(count, " for ", s.server.TTL(key))
		case strings.HasSuffix(key, "}:holds"):
			members, err := s.server.ZMembers(key)
			require.NoError(s, err)
			open := 0
			for _, call := range members {
				holds, err := s.server.Get(strings.TrimSuffix(key, "holds") + "h:" + call)
				require.NoError(s, err)
				states, _, _ := strings.Cut(holds, " ")
				open += len(states) - strings.Count(states, ".") - strings.Count(states, "!")
			}
			stored[key] = strconv.Itoa(open)
		}
	}
	return stored
}

// What is stored of a hold must be what a relay of this version reads.
func TestAHoldThatIsNotReadableStaysOpen(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	h := s.holdOf("1", story.At("10:00"))
	for text, want := range map[string]string{"A 1\nterms": "the holds of a call have 2 lines", "A soon\nterms\nA hours\nm u\n": "the holds of a call do not begin with a time"} {
		require.NoError(t, s.client.Set(t.Context(), s.keys.HoldsOfCall(keyspace.Partition("acme"), h.Attempt[:12]), text, 0).Err())
		s.wait(20 * time.Second)
		due, err := s.charges.Due(t.Context(), s.now, 1)
		require.NoError(t, err)
		require.Len(t, due, 1)
		ends, _, err := s.charges.Resolve(t.Context(), due[0], time.Time{})
		require.ErrorIs(t, err, fault.ErrReply)
		require.ErrorContains(t, err, want)
		require.Empty(t, ends)
	}
}
