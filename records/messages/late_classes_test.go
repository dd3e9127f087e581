package messages_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
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

// addQuietHours adds quiet hours to a policy.
func addQuietHours(t *testing.T, p policy.Policy, lines ...string) policy.Policy {
	t.Helper()
	p.QuietHours = story.QuietHours(t, lines...)
	return p
}

func TestALateMessageWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))})
	s.Submit("a", "21:30", "g1", "text")
	s.Submit("b", "21:40", "g2", "text")
	s.Until("22:30")
	requirePostponed(s, s.Claim("b", "g2", "n1"), "a 21:30:00 08:00:00", "b 21:40:00 08:01:00")
	require.Equal(t, "late quiet", s.Field("a", "w"))
	require.True(t, s.Look("a").InQuietHours)
	require.Zero(t, s.Look("a").InTheWay)
	require.Equal(t, story.At("23 08:00"), s.Look("a").SendAt)
	s.Until("23 08:00")
	require.Equal(t, story.At("21:30"), deliver(s, "a").Promised)
	s.Until("23 08:01")
	deliver(s, "b")
}

// A message that was accepted before the hours became quiet is sent as promised
// if it is on time.
func TestOnTimeInHoursThatHaveBecomeQuiet(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "23:00", "g1", "text")
	s.Submit("b", "23:01", "g2", "text")
	usePolicy(s, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))
	s.Until("23:00:02")
	require.Zero(t, deliver(s, "a").Promised)
	s.Until("23:01:02.001")
	requirePostponed(s, s.Claim("b", "g2", "n1"), "b 23:01:00 08:00:00")
}

// A retry is always late.
func TestARetryObeysQuietHours(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))})
	s.Submit("a", "21:59", "g1", "text")
	s.Until("21:59")
	s.Claim("a", "g1", "n1")
	require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{
		Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: story.At("22:00:30")}, Reason: "unavailable",
	}))
	s.Until("22:00:30")
	requirePostponed(s, s.Claim("a", "g2", "n2"), "a 21:59:00 08:00:00")
	s.Until("23 08:00")
	require.Equal(t, 2, deliver(s, "a").Attempt)
}

// A message that expires before the end of the quiet hours is dropped.
func TestAPostponementByQuietHoursIsBoundedByTheExpiry(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00"))})
	for id, expires := range map[string]string{"gone": "23 08:00", "just": "23 08:00:00.001"} {
		r := sendlimit.Request{ID: id, At: story.At("21:55"), Record: story.RecordOf("g-"+id, "text")}
		if id == "just" {
			r.At = story.At("21:56")
		}
		r.Record.ExpiresAt = story.At(expires)
		require.True(t, s.Ask(r).Allowed)
	}
	s.Until("22:30")
	claim := s.Claim("just", "g-just", "n1")
	requirePostponed(s, claim, "just 21:56:00 08:00:00")
	require.Equal(t, []messages.Drop{{ID: "gone", SendAt: story.At("21:55"), Reason: "no_free_time"}}, claim.Dropped)
}

// The reach of a policy limits requests, not postponements.
func TestAPostponementIsNotBoundedByThePolicysReach(t *testing.T) {
	t.Parallel()
	p := addQuietHours(t, story.PolicyOf(t, "1/minute"), "22:00-08:00")
	p.Reach = time.Hour
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	s.Until("21:00")
	s.Submit("a", "21:50", "g1", "text")
	s.Until("22:30")
	requirePostponed(s, s.Claim("a", "g1", "n1"), "a 21:50:00 08:00:00")
}

// Quiet hours of one weekday in a zone whose clocks are put back meanwhile: a
// late message waits until the clock shows their end.
func TestALateMessageInTheNightOfAClockChange(t *testing.T) {
	t.Parallel()
	p := addQuietHours(t, story.PolicyOf(t, "zone:Europe/Berlin", "1/minute"), "sat 22:00-08:00")
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	s.Until("2027-10-30T19:00:00Z")
	r := sendlimit.Request{ID: "a", At: story.At("2027-10-30T19:30:00Z"), Record: story.RecordOf("g1", "text")}
	require.True(t, s.Ask(r).Allowed)
	s.Until("2027-10-30T20:30:00Z") // 22:30 in Berlin
	claim := s.Claim("a", "g1", "n1")
	require.Equal(t, messages.Postponed, claim.Verdict)
	require.Equal(t, story.At("2027-10-31T07:00:00Z"), claim.Placed[0].Due, "ten hours and the one that there is twice")
}

// However many late messages of another class wait for their places, or are late again at
// them, a claim reads few records, and finds the younger one of its class that waits.
func TestAClaimReadsFewRecordsOfAnotherClass(t *testing.T) {
	t.Parallel()
	const others, fewest = 900, 5
	client := redistest.Real(t).Client()
	now := story.At("12:00")
	rules := story.RulesBy(t, addCategory(t, story.PolicyOf(t, "1000/hour"), "news", "1/hour"))
	gate, err := messages.NewGate(client, sendlimit.Options{Records: true, Rules: rules})
	require.NoError(t, err)
	keys := story.KeysOf(sendlimit.Options{})
	for user, c := range map[string]struct{ othersPromised, othersAt, promised, at time.Duration }{
		"late, promised after the others":  {-2 * time.Hour, time.Hour, -time.Hour, -time.Minute},
		"late, promised before the others": {-2 * time.Hour, time.Hour, -3 * time.Hour, -time.Minute},
		"on time, and others are late":     {-2 * time.Hour, -time.Minute, -time.Hour, 0},
	} {
		wait := func(id, category string, promised, at time.Duration) {
			place := redis.Z{Score: float64(now.Add(at).UnixMilli()), Member: id}
			record := []any{"g", "g-" + id, "t", now.Add(at).UnixMilli(), "p", now.Add(promised).UnixMilli()}
			member := id
			if category != "" {
				record, member = append(record, "k", category), id+" "+category
				require.NoError(t, client.ZAdd(t.Context(), keys.Category(user, category), place).Err())
			}
			require.NoError(t, client.HSet(t.Context(), keys.Record(user, id), record...).Err())
			require.NoError(t, client.ZAdd(t.Context(), keys.Timeline(user), place).Err())
			waits := redis.Z{Score: float64(now.Add(promised).UnixMilli()), Member: member}
			require.NoError(t, client.ZAdd(t.Context(), keys.Waiting(user), waits).Err())
		}
		for i := range others {
			wait(fmt.Sprint("m", i), "", c.othersPromised+time.Duration(i), c.othersAt+time.Duration(i))
		}
		wait("claimed", "news", c.promised, c.at)
		wait("younger", "news", -time.Second, time.Minute)
		require.NoError(t, client.ConfigResetStat(t.Context()).Err())
		claim, err := gate.Claim(t.Context(), messages.Delivery{
			User: user, ID: "claimed", Generation: "g-claimed", Nonce: "n1",
		}, time.Minute, now)
		require.NoError(t, err)
		require.Equal(t, messages.Send, claim.Verdict, user)
		info, err := client.InfoMap(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		var records int
		_, err = fmt.Sscanf(info["Commandstats"]["cmdstat_hmget"], "calls=%d", &records)
		require.NoError(t, err)
		require.LessOrEqual(t, records, fewest, user)
	}
}

// A time that an earlier message of the claim got counts for a later one of another class, even if
// it is just before the last place that the search of the later one has read.
func TestATimeOfAnotherClassCountsAtTheEdgeOfWhatWasRead(t *testing.T) {
	t.Parallel()
	classes := func(overall, own string) policy.Policy {
		return addCategory(t, addCategory(t, story.PolicyOf(t, overall), "news", own), "marketing", own)
	}
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, classes("99/10m", "99/6h"))})
	submitCategory(s, "news", "former-news", "07:16")
	submitCategory(s, "marketing", "former-marketing", "07:20")
	submitCategory(s, "marketing", "a", "11:00")
	submitCategory(s, "news", "b", "11:01")
	places := make([]redis.Z, 32) // a search reads 16 on each side at a time
	for i := range places {
		when := story.At("12:30")
		if i >= 16 {
			when = story.At("13:16").Add(time.Duration(i-15) * time.Second)
		}
		places[i] = redis.Z{Score: float64(when.UnixMilli()), Member: "reserved" + strconv.Itoa(i)}
	}
	places[31].Score = float64(story.At("13:20").UnixMilli() + 1)
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), places...).Err())
	usePolicy(s, classes("17/10m", "1/6h"))
	s.Until("07:16")
	deliver(s, "former-news")
	s.Until("07:20")
	deliver(s, "former-marketing")
	s.Until("12:00")
	requirePostponed(s, s.Claim("b", "g-b", "n1"), "a 11:00:00 13:20:00", "b 11:01:00 13:26:01")
}
