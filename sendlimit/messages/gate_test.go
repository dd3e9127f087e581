package messages_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestClaimSends(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	r := sendlimit.Request{ID: "b", At: story.At("11:00:30"), Shift: true, Record: story.RecordOf("g2", "")}
	r.Record.Category = "news"
	s.Ask(r)
	s.Until("11:00:00.250")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: story.At("11:00"), Attempt: 1, Content: []byte("text"), Now: s.Now,
		ExpiresAt: story.At("11:00").Add(24 * time.Hour),
	}, s.Claim("a", "g1", "n1"))
	s.Watched("g2/b 10:59:00", "g1/a 11:00:30.25") // the time of the relay if the worker dies
	s.Until("11:01:00.250")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: story.At("11:01"), RequestedAt: story.At("11:00:30"), Attempt: 1,
		Category: "news", Content: []byte{}, Now: s.Now, ExpiresAt: story.At("11:01").Add(24 * time.Hour),
	}, s.Claim("b", "g2", "n2"))
	s.Watched("g1/a 11:00:30.25", "g2/b 11:01:30.25")
}

func TestClaimIsEarlyToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11.900", "g1", "text")
	s.Until("11:11:11.899")
	require.Equal(t, messages.Claim{Verdict: messages.Early, Until: story.At("11:11:11.900"), Now: s.Now}, s.Claim("a", "g1", "n1"))
	s.Wait(time.Millisecond)
	require.Equal(t, messages.Send, s.Claim("a", "g1", "n1").Verdict)
}

func TestClaimIsBusyUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	require.Equal(t, 1, s.Claim("a", "g1", "n1").Attempt)
	s.Wait(story.Lease - time.Millisecond)
	require.Equal(t, messages.Claim{Verdict: messages.Busy, Until: story.At("11:00:30"), Now: s.Now}, s.Claim("a", "g1", "n2"))
	s.Wait(time.Millisecond)
	require.Equal(t, 2, s.Claim("a", "g1", "n2").Attempt, "what became of the first try is uncertain: sent again")

	require.False(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered}), "another has it")
	require.Equal(t, messages.Busy, s.Claim("a", "g1", "n1").Verdict, "nor can the first claim it back")
	require.True(t, s.Settle("a", "g1", "n2", messages.Settlement{Outcome: messages.Delivered}))
	require.False(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Failed}))
	s.Holds("a 11:00:30") // a late one counts when it was really sent
}

// The store may have been away when the lease ended. So the first delivery may still settle
// while the store answers, for four looks.
func TestADeliverySettlesInTheFairTimeAfterItsLease(t *testing.T) {
	t.Parallel()
	for _, settles := range []bool{true, false} {
		s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), SettleWithin: 4 * time.Second})
		s.Submit("a", "11:00", "g1", "text")
		s.Until("11:00")
		require.Equal(t, messages.Send, s.Claim("a", "g1", "n1").Verdict)
		s.Until("11:05")
		for k := range 4 {
			fair := messages.Claim{Verdict: messages.Busy, Fair: true, Until: s.Now.Add(time.Second), Now: s.Now}
			require.Equal(t, fair, s.Claim("a", "g1", fmt.Sprint("look", k)))
			s.Wait(999 * time.Millisecond)
			fair.Now = s.Now
			require.Equal(t, fair, s.Claim("a", "g1", "other"), "no look, so soon after another one")
			s.Wait(time.Millisecond)
		}
		if settles {
			require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered, Began: story.At("11:00")}))
			require.Equal(t, messages.Stale, s.Claim("a", "g1", "n2").Verdict)
			require.Empty(t, s.Field("a", "v")+s.Field("a", "l"))
			continue
		}
		require.True(t, s.Claim("a", "g1", "n2").TakenOver)
		require.Empty(t, s.Field("a", "v")+s.Field("a", "l"), "the next lease has its own fair time")
		require.False(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered, Began: story.At("11:00")}))
		s.Wait(story.Lease)
		require.True(t, s.Claim("a", "g1", "n3").Fair)
	}
}

func TestClaimIsStale(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	stale := func(id, generation string) {
		t.Helper()
		before := s.Server.Dump()
		require.Equal(t, messages.Claim{Verdict: messages.Stale, Now: s.Now}, s.Claim(id, generation, "n9"))
		require.Equal(t, before, s.Server.Dump(), "a stale task does nothing")
	}
	s.Submit("a", "11:00", "g1", "text")
	s.MoveTo("a", "12:00", "g2")
	s.Submit("b", "13:00", "g3", "text")
	s.Release("b")
	s.Until("12:00")
	stale("a", "g1")
	stale("b", "g3")
	stale("nobody", "g1")
	require.Equal(t, messages.Send, s.Claim("a", "g2", "n1").Verdict)
	stale("a", "g1")
	s.Settle("a", "g2", "n1", messages.Settlement{Outcome: messages.Delivered})
	stale("a", "g2")
}

func TestClaimDropsWhatHasExpired(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/hour")
	r := sendlimit.Request{ID: "own", At: story.At("11:00"), Record: story.RecordOf("g1", "text")}
	r.Record.ExpiresAt = story.At("11:30")
	s.Ask(r)
	s.Submit("a", "12:00", "g2", "text")

	s.Until("11:30")
	expired := messages.Claim{Verdict: messages.Dropped, SendAt: story.At("11:00"), Reason: "expired", Now: s.Now}
	require.Equal(t, expired, s.Claim("own", "g1", "n1"))
	s.Holds("a 12:00:00")
	require.Empty(t, s.Field("own", "c"))
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("own"))
	require.Equal(t, fault.CodeNotFound, s.Release("own").Code)

	s.Until("23 11:59:59.999") // a day after its send time, by default: the first one, however late it is sent
	require.Equal(t, messages.Send, s.Claim("a", "g2", "n2").Verdict)
	s.Settle("a", "g2", "n2", messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: "g3", At: s.Now}})
	s.Wait(time.Millisecond)
	require.Equal(t, messages.Dropped, s.Claim("a", "g3", "n3").Verdict)
	s.Watched()
}

func TestSettleDelivered(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered, ProviderID: "p-17"}))
	s.Holds("a 11:00:00") // it was sent, and counts
	s.Watched()
	require.Empty(t, s.Field("a", "c"), "the content is erased")
	require.Equal(t, "p-17", s.Field("a", "i"))
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))

	too := sendlimit.Decision{Code: fault.CodeTooLate, At: story.At("11:00"), Now: s.Now}
	require.Equal(t, too, s.Release("a"))
	require.Equal(t, too, s.MoveTo("a", "12:00", "g2"))
	require.True(t, s.Submit("a", "11:00", "g3", "text").Replayed, "its id is remembered")
	require.Equal(t, fault.CodeIDReused, s.Submit("a", "15:00", "g4", "other text").Code)
}

// A setting keeps the content of what is delivered, long or short, and of nothing else that ends.
func TestSettleKeepsTheContent(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), KeepContent: true})
	contents := map[string]string{"short": "text", "some": strings.Repeat("some", 50), "long": strings.Repeat("long", 200)}
	for id, at := range map[string]string{"short": "11:00", "some": "11:01", "long": "11:02", "off": "11:03"} {
		s.Submit(id, at, "g-"+id, cmp.Or(contents[id], "text"))
	}
	for _, id := range []string{"short", "some", "long"} {
		s.Until(map[string]string{"short": "11:00", "some": "11:01", "long": "11:02"}[id])
		s.Claim(id, "g-"+id, "n-"+id)
		for range 2 { // the first answer may get lost
			require.True(t, s.Settle(id, "g-"+id, "n-"+id, messages.Settlement{Outcome: messages.Delivered}))
		}
		chunks := []string{s.Field(id, "c")}
		for n := 1; n <= 7; n++ {
			chunks = append(chunks, s.Field(id, strconv.Itoa(n)))
		}
		require.Equal(t, contents[id], strings.Join(chunks, ""))
		require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor(id))
	}
	s.Release("off")
	require.Empty(t, s.Field("off", "c"))
	s.Watched()
}

// An id must be kept as long as its place counts. Otherwise a repeated submit
// would conflict with itself or take a second place.
func TestARecordOutlivesItsPlace(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/30d")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered})
	const counts = 30*24*time.Hour + policy.Grace
	require.Equal(t, counts, s.KeptFor("a"), "more than the seven days that records are kept")
	s.Wait(counts - time.Millisecond)
	s.Holds("a 11:00:00")
	require.True(t, s.Submit("a", "11:00", "g2", "text").Replayed)
}

func TestSettleFailedFreesThePlace(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/hour")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Failed, Reason: "gone"}))
	s.Holds()
	s.Watched()
	require.Equal(t, "gone", s.Field("a", "w"))
	require.Equal(t, "text", s.Field("a", "c"), "it can be sent after all")
	requireDeadLetters(s, "a 11:00:00")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))
	require.True(t, s.Submit("a", "11:00:30", "g2", "other text").Allowed, "its id is free, and so is the hour")
	require.Empty(t, s.Field("a", "w"), "nothing is left of the failed one")
}

func TestSettleRetry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	retry := messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: story.At("11:05")}, Reason: "busy"}
	require.True(t, s.Settle("a", "g1", "n1", retry))
	s.Watched("g2/a 11:03:00")
	s.Holds("a 11:00:00") // the place it was promised
	require.Equal(t, messages.Stale, s.Claim("a", "g1", "n2").Verdict)
	require.Equal(t, messages.Claim{Verdict: messages.Early, Until: story.At("11:05"), Now: s.Now}, s.Claim("a", "g2", "n2"))
	s.Until("11:05")
	claim := s.Claim("a", "g2", "n2")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, 2, claim.Attempt)
	require.Equal(t, story.At("11:05"), claim.SendAt, "late by nature: judged anew")
	require.Equal(t, story.At("11:00"), claim.Promised)
	require.Equal(t, "text", string(claim.Content))
}

func TestBetweenRetriesAMessageCanBeCancelledAndMoved(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "2/minute")
	for id, when := range map[string]string{"a": "11:00:58", "b": "11:01"} {
		s.Submit(id, when, id+"1", "text")
	}
	s.Until("11:01")
	for _, id := range []string{"a", "b"} {
		s.Claim(id, id+"1", "n"+id)
		require.Equal(t, fault.CodeTooLate, s.Release(id).Code, "it is being sent")
		require.Equal(t, fault.CodeTooLate, s.MoveTo(id, "15:00", "x").Code)
		s.Settle(id, id+"1", "n"+id, messages.Settlement{Outcome: messages.Retried, Retry: messages.Retry{Generation: id + "2", At: story.At("12:00")}})
	}
	require.True(t, s.Release("a").Allowed)
	require.True(t, s.MoveTo("b", "11:30", "b3").Allowed)
	s.Watched("b3/b 11:28:00")
	s.Until("11:30")
	require.Equal(t, messages.Stale, s.Claim("a", "a2", "n1").Verdict)
	require.Equal(t, messages.Stale, s.Claim("b", "b2", "n2").Verdict)
	require.Equal(t, messages.Send, s.Claim("b", "b3", "n3").Verdict, "the move's time, not the retry's")
}

func TestVerdictsHaveNames(t *testing.T) {
	t.Parallel()
	for verdict, name := range map[messages.Verdict]string{
		messages.Send: "send", messages.Stale: "stale", messages.Busy: "busy", messages.Early: "early",
		messages.Dropped: "dropped", messages.Postponed: "postponed", 9: "verdict(9)",
	} {
		require.Equal(t, name, verdict.String())
	}
}
