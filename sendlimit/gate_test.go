package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

const lease = 30 * time.Second

func (s *messageStory) claim(id, generation, nonce string) messages.Claim {
	s.Helper()
	claim, err := s.gate.Claim(s.Context(), messages.Delivery{
		User: "alice", ID: id, Generation: generation, Nonce: nonce,
	}, lease, time.Time{})
	require.NoError(s, err)
	return claim
}

func (s *messageStory) settle(id, generation, nonce string, settlement messages.Settlement) bool {
	s.Helper()
	held, err := s.gate.Settle(s.Context(), messages.Delivery{
		User: "alice", ID: id, Generation: generation, Nonce: nonce,
	}, settlement, time.Time{})
	require.NoError(s, err)
	return held
}

func TestClaimSends(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	r := sendlimit.Request{ID: "b", At: at("11:00:30"), Shift: true, Record: recordOf("g2", "")}
	r.Record.Category = "news"
	s.ask(r)
	s.until("11:00:00.250")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: at("11:00"), Attempt: 1, Content: []byte("text"), Now: s.now,
	}, s.claim("a", "g1", "n1"))
	s.watched("g2/b 00:00:10", "g1/a 11:00:30.25") // who looks after it if the worker dies
	s.until("11:01:00.250")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: at("11:01"), RequestedAt: at("11:00:30"), Attempt: 1,
		Category: "news", Content: []byte{}, Now: s.now,
	}, s.claim("b", "g2", "n2"))
	s.watched("g1/a 11:00:30.25", "g2/b 11:01:30.25")
}

func TestClaimIsEarlyToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:11:11.900", "g1", "text")
	s.until("11:11:11.899")
	require.Equal(t, messages.Claim{Verdict: messages.Early, Until: at("11:11:11.900"), Now: s.now}, s.claim("a", "g1", "n1"))
	s.wait(time.Millisecond)
	require.Equal(t, messages.Send, s.claim("a", "g1", "n1").Verdict)
}

func TestClaimIsBusyUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:00")
	require.Equal(t, 1, s.claim("a", "g1", "n1").Attempt)
	s.wait(lease - time.Millisecond)
	require.Equal(t, messages.Claim{Verdict: messages.Busy, Until: at("11:00:30"), Now: s.now}, s.claim("a", "g1", "n2"))
	s.wait(time.Millisecond)
	require.Equal(t, 2, s.claim("a", "g1", "n2").Attempt, "what became of the first try is uncertain: sent again")

	require.False(t, s.settle("a", "g1", "n1", messages.Settlement{Delivered: true}), "another has it")
	require.Equal(t, messages.Busy, s.claim("a", "g1", "n1").Verdict, "nor can the first claim it back")
	require.True(t, s.settle("a", "g1", "n2", messages.Settlement{Delivered: true}))
	require.False(t, s.settle("a", "g1", "n1", messages.Settlement{Failed: true}))
	s.holds("a 11:00:30") // a late one counts when it was really sent
}

func TestClaimIsStale(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	stale := func(id, generation string) {
		t.Helper()
		before := s.server.Dump()
		require.Equal(t, messages.Claim{Verdict: messages.Stale, Now: s.now}, s.claim(id, generation, "n9"))
		require.Equal(t, before, s.server.Dump(), "a stale task does nothing")
	}
	s.submit("a", "11:00", "g1", "text")
	s.moveTo("a", "12:00", "g2")
	s.submit("b", "13:00", "g3", "text")
	s.release("b")
	s.until("12:00")
	stale("a", "g1")
	stale("b", "g3")
	stale("nobody", "g1")
	require.Equal(t, messages.Send, s.claim("a", "g2", "n1").Verdict)
	stale("a", "g1")
	s.settle("a", "g2", "n1", messages.Settlement{Delivered: true})
	stale("a", "g2")
}

func TestClaimDropsWhatHasExpired(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/hour")
	r := sendlimit.Request{ID: "own", At: at("11:00"), Record: recordOf("g1", "text")}
	r.Record.ExpiresAt = at("11:30")
	s.ask(r)
	s.submit("a", "12:00", "g2", "text")

	s.until("11:30")
	expired := messages.Claim{Verdict: messages.Dropped, SendAt: at("11:00"), Reason: "expired", Now: s.now}
	require.Equal(t, expired, s.claim("own", "g1", "n1"))
	s.holds("a 12:00:00")
	require.Empty(t, s.field("own", "c"))
	require.Equal(t, sendlimit.DefaultKeepRecords, s.keptFor("own"))
	require.Equal(t, fault.CodeNotFound, s.release("own").Code)

	s.until("23 11:59:59.999") // a day after its send time, by default: the first one, however late it is sent
	require.Equal(t, messages.Send, s.claim("a", "g2", "n2").Verdict)
	s.settle("a", "g2", "n2", messages.Settlement{Retry: &messages.Retry{Generation: "g3", At: s.now}})
	s.wait(time.Millisecond)
	require.Equal(t, messages.Dropped, s.claim("a", "g3", "n3").Verdict)
	s.watched()
}

func TestSettleDelivered(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:00")
	s.claim("a", "g1", "n1")
	require.True(t, s.settle("a", "g1", "n1", messages.Settlement{Delivered: true, ProviderID: "p-17"}))
	s.holds("a 11:00:00") // it was sent, and counts
	s.watched()
	require.Empty(t, s.field("a", "c"), "the content is erased")
	require.Equal(t, "p-17", s.field("a", "i"))
	require.Equal(t, sendlimit.DefaultKeepRecords, s.keptFor("a"))

	too := sendlimit.Decision{Code: fault.CodeTooLate, At: at("11:00"), Now: s.now}
	require.Equal(t, too, s.release("a"))
	require.Equal(t, too, s.moveTo("a", "12:00", "g2"))
	require.True(t, s.submit("a", "11:00", "g3", "text").Replayed, "its id is remembered")
	require.Equal(t, fault.CodeIDReused, s.submit("a", "15:00", "g4", "other text").Code)
}

// An id must be remembered as long as its place counts: otherwise the same
// message, asked for again, would be refused for itself or taken twice.
func TestARecordOutlivesItsPlace(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/30d")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:00")
	s.claim("a", "g1", "n1")
	s.settle("a", "g1", "n1", messages.Settlement{Delivered: true})
	const counts = 30*24*time.Hour + policy.Grace
	require.Equal(t, counts, s.keptFor("a"), "more than the seven days that records are kept")
	s.wait(counts - time.Millisecond)
	s.holds("a 11:00:00")
	require.True(t, s.submit("a", "11:00", "g2", "text").Replayed)
}

func TestSettleFailedFreesThePlace(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/hour")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:00")
	s.claim("a", "g1", "n1")
	require.True(t, s.settle("a", "g1", "n1", messages.Settlement{Failed: true, Reason: "gone"}))
	s.holds()
	s.watched()
	require.Equal(t, "gone", s.field("a", "w"))
	require.Equal(t, "text", s.field("a", "c"), "it can be sent after all")
	s.deadLetters("a 11:00:00")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.keptFor("a"))
	require.True(t, s.submit("a", "11:00:30", "g2", "other text").Allowed, "its id is free, and so is the hour")
	require.Empty(t, s.field("a", "w"), "nothing is left of the failed one")
}

func TestSettleRetry(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:00")
	s.claim("a", "g1", "n1")
	retry := messages.Settlement{Retry: &messages.Retry{Generation: "g2", At: at("11:05")}, Reason: "busy"}
	require.True(t, s.settle("a", "g1", "n1", retry))
	s.watched("g2/a 11:00:10")
	s.holds("a 11:00:00") // the place it was promised
	require.Equal(t, messages.Stale, s.claim("a", "g1", "n2").Verdict)
	require.Equal(t, messages.Claim{Verdict: messages.Early, Until: at("11:05"), Now: s.now}, s.claim("a", "g2", "n2"))
	s.until("11:05")
	claim := s.claim("a", "g2", "n2")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, 2, claim.Attempt)
	require.Equal(t, at("11:05"), claim.SendAt, "late by nature: judged anew")
	require.Equal(t, at("11:00"), claim.Promised)
	require.Equal(t, "text", string(claim.Content))
}

func TestBetweenRetriesAMessageCanBeCancelledAndMoved(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "2/minute")
	for id, when := range map[string]string{"a": "11:00:58", "b": "11:01"} {
		s.submit(id, when, id+"1", "text")
	}
	s.until("11:01")
	for _, id := range []string{"a", "b"} {
		s.claim(id, id+"1", "n"+id)
		require.Equal(t, fault.CodeTooLate, s.release(id).Code, "it is being sent")
		require.Equal(t, fault.CodeTooLate, s.moveTo(id, "15:00", "x").Code)
		s.settle(id, id+"1", "n"+id, messages.Settlement{Retry: &messages.Retry{Generation: id + "2", At: at("12:00")}})
	}
	require.True(t, s.release("a").Allowed)
	require.True(t, s.moveTo("b", "11:30", "b3").Allowed)
	s.watched("b3/b 11:01:10")
	s.until("11:30")
	require.Equal(t, messages.Stale, s.claim("a", "a2", "n1").Verdict)
	require.Equal(t, messages.Stale, s.claim("b", "b2", "n2").Verdict)
	require.Equal(t, messages.Send, s.claim("b", "b3", "n3").Verdict, "the move's time, not the retry's")
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
