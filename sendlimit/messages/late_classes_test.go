package messages_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// addCategory adds a category with its own rules to a policy.
func addCategory(t *testing.T, p policy.Policy, category string, rules ...string) policy.Policy {
	t.Helper()
	if p.Categories == nil {
		p.Categories = map[string]policy.CategoryRules{}
	}
	p.UnknownCategories = policy.AllowUnknown
	p.Categories[category] = policy.CategoryRules{Rules: story.PolicyOf(t, rules...).Rules}
	return p
}

// usePolicy makes the gate judge by another policy.
func usePolicy(s *story.Messages, p policy.Policy) {
	s.Helper()
	o := s.Options
	o.Records, o.Rules = true, story.RulesBy(s, p)
	var err error
	s.Gate, err = messages.NewGate(s.Client, o)
	require.NoError(s, err)
}

// A category's rule delays late messages of the category, and no others.
func TestALateMessageIsJudgedByItsCategory(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{
		Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "2/minute"), "marketing", "1/hour")),
	})
	submitCategory(s, "marketing", "m1", "10:00")
	submitCategory(s, "marketing", "m2", "11:00")
	submitCategory(s, "news", "n1", "11:01")
	submitCategory(s, "", "a1", "11:02")
	s.Until("11:30")
	claim := deliver(s, "m1")
	requirePlaced(s, claim, "m2 11:00:00 12:30:00", "n1 11:01:00 11:30:00", "a1 11:02:00 11:31:00")
	require.Equal(t, "late 1 3600000 marketing", s.Field("m2", "w"))
	require.Equal(t, "late", s.Field("n1", "w"), "it goes at once")
	require.Equal(t, "late 2 60000", s.Field("a1", "w"))
	stands := s.Look("m2")
	require.Equal(t, policy.Rule{Limit: 1, Window: time.Hour}, stands.InTheWay)
	require.Equal(t, "marketing", stands.InTheWayCategory)
	for _, want := range []string{"n1 11:30", "a1 11:31", "m2 12:30"} {
		id, when := want[:2], want[3:]
		s.Until(when)
		deliver(s, id)
	}
}

// All messages of a category count for its rule, whatever rules accepted them.
func TestACategoryCountsWhatWasAcceptedBeforeItHadRules(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	submitCategory(s, "marketing", "sent", "11:00")
	submitCategory(s, "marketing", "late", "11:20")
	submitCategory(s, "marketing", "ahead", "11:50")
	submitCategory(s, "", "other", "12:30")
	s.Until("11:00")
	deliver(s, "sent")
	s.Until("11:25")
	usePolicy(s, addCategory(t, story.PolicyOf(t, "1/minute"), "marketing", "1/hour"))
	requirePostponed(s, s.Claim("late", "g-late", "n1"), "late 11:20:00 12:50:00")
	require.Equal(t, "marketing", s.Look("late").InTheWayCategory)

	// On-time messages are sent as promised.
	s.Until("11:50")
	require.Zero(t, deliver(s, "ahead").Promised)
}

// Messages wait for an older one of their class, and for no other message.
func TestClassesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{
		Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "3/minute"), "marketing", "2/day")),
	})
	submitCategory(s, "marketing", "m1", "10:00")
	submitCategory(s, "", "a1", "10:10")
	submitCategory(s, "marketing", "m2", "10:20")
	submitCategory(s, "news", "n1", "10:30")
	s.Until("11:00")
	requireBusy(s, "m2") // for m1
	requireBusy(s, "n1") // for a1: neither has rules of its own
	claim := deliver(s, "a1")
	require.Equal(t, story.At("11:00"), claim.SendAt, "though m1 is older and can go, too")
	requirePlaced(s, claim, "m1 10:00:00 11:00:00", "m2 10:20:00 11:00:00", "n1 10:30:00 11:01:00")
	deliver(s, "m1")
	deliver(s, "m2")
}

// An exempt message that has expired, and can't have arrived, will not be sent. If
// its place counted until its own claim, a younger message could get it then.
func TestAnExpiredExemptMessageDoesNotCount(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.WithCodes(t, "2/hour"))})
	submitCategory(s, "", "a", "10:00")
	submitCategory(s, "", "b", "10:01")
	for _, id := range []string{"gone", "tried"} {
		r := sendlimit.Request{ID: id, At: story.At("11:00"), Record: story.Categorized("g1", "otp")}
		r.Record.ExpiresAt = story.At("11:05")
		require.True(t, s.Ask(r).Allowed)
	}
	s.Until("11:00")
	require.Equal(t, messages.Send, s.Claim("tried", "g1", "n1").Verdict)
	require.True(t, s.Settle("tried", "g1", "n1", messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{
		Generation: "g2", At: story.At("11:30"), Uncertain: true,
	}}))

	s.Until("11:30")
	requirePlaced(s, deliver(s, "a"), "b 10:01:00 12:00:00") // a and tried count
	require.Equal(t, messages.ReasonExpired, s.Claim("gone", "g1", "n2").Reason)
	require.Equal(t, messages.ReasonUncertain, s.Claim("tried", "g2", "n3").Reason)
}

// Messages of one class keep their order. Places of other classes count.
func TestEachClassKeepsItsOrder(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	for n, category := range []string{"x", "y", "", "x", "y", "", "x", "y", "", "x"} {
		submitCategory(s, category, fmt.Sprintf("%s%d", category, n), fmt.Sprintf("10:%02d", 5*n))
	}
	s.Until("11:00")
	usePolicy(s, addCategory(t, addCategory(t, story.PolicyOf(t, "1/minute"), "x", "2/hour"), "y", "1/10m"))
	requirePlaced(s, deliver(s, "x0"),
		"y1 10:05:00 11:01:00", "2 10:10:00 11:02:00", "x3 10:15:00 11:03:00", "y4 10:20:00 11:11:00",
		"5 10:25:00 11:04:00", "x6 10:30:00 12:00:00", "y7 10:35:00 11:21:00", "8 10:40:00 11:05:00",
		"x9 10:45:00 12:03:00")
}

// When the rules are relaxed, late messages are sent in order. Each class is
// placed again while others are being sent.
func TestLateAgainWithSeveralClasses(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{
		Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "1/minute"), "m", "1/hour")),
	})
	submitCategory(s, "m", "m1", "09:00")
	submitCategory(s, "m", "m2", "10:00")
	submitCategory(s, "", "a1", "10:01")
	submitCategory(s, "", "a2", "10:02")
	s.Until("11:00")
	requirePlaced(s, deliver(s, "m1"), "m2 10:00:00 12:00:00", "a1 10:01:00 11:01:00", "a2 10:02:00 11:02:00")
	s.Until("12:30")
	requirePlaced(s, deliver(s, "m2"), "a1 11:01:00 12:31:00", "a2 11:02:00 12:32:00")
	require.Equal(t, story.At("10:00"), s.Look("m2").Promised, "the oldest of them, though its place was the last")
}

// reserveEveryMinute adds n places to the timeline, one a minute.
func reserveEveryMinute(s *story.Messages, from string, n int) {
	s.Helper()
	places := make([]redis.Z, n)
	for i := range places {
		when := story.At(from).Add(time.Duration(i) * time.Minute)
		places[i] = redis.Z{Score: float64(when.UnixMilli()), Member: "reserved" + strconv.Itoa(i)}
	}
	require.NoError(s, s.Client.ZAdd(s.Context(), s.Key(), places...).Err())
}

// Each class has its own search. A call does not take longer for that.
func TestTheSearchesOfAClaimShareItsSteps(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const n = 12
	policy := story.PolicyOf(t, "1/minute")
	for i := range n {
		policy = addCategory(t, policy, fmt.Sprintf("c%d", i), "1000/day")
	}
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, policy), ExpireAfter: 30 * 24 * time.Hour})
	var wanted []string
	for i := range n {
		id := fmt.Sprintf("a%d", i)
		former, when := story.At("11:00").Add(time.Duration(i)*time.Minute), story.At("12:00").Add(time.Duration(900+i)*time.Minute)
		submitCategory(s, fmt.Sprintf("c%d", i), id, former.Format("15:04"))
		wanted = append(wanted, id+" "+former.Format("15:04:05")+" "+when.Format("15:04:05"))
	}
	reserveEveryMinute(s, "12:00", 900)
	s.Until("12:00")
	claims := redistest.DoAfterCalls(t, s.Client, lua.Claim, 0, nil)
	requirePostponed(s, s.Claim("a11", "g-a11", "n1"), wanted...)
	require.GreaterOrEqual(t, claims.Calls, n/4)
}
