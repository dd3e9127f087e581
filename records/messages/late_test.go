package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// requirePostponed requires that a claim postpones its message, and that
// exactly these messages got another time, as "id former new".
func requirePostponed(s *story.Messages, claim messages.Claim, placed ...string) {
	s.Helper()
	require.Equal(s, messages.Postponed, claim.Verdict)
	requirePlaced(s, claim, placed...)
}

// requirePlaced requires the late messages that a claim placed, and that their
// records agree.
func requirePlaced(s *story.Messages, claim messages.Claim, wanted ...string) {
	s.Helper()
	var found []string
	for _, p := range claim.Placed {
		found = append(found, p.ID+" "+p.From.Format("15:04:05.999")+" "+p.Due.Format("15:04:05.999"))
		require.Equal(s, p.Generation, s.Field(p.ID, "g"))
	}
	require.Equal(s, wanted, found)
}

// requireBusy requires that a claim has to wait for an older late message, and
// changes nothing.
func requireBusy(s *story.Messages, id string) {
	s.Helper()
	generation := s.Field(id, "g")
	require.Equal(s, messages.Claim{Verdict: messages.Busy, Until: s.Now.Add(500 * time.Millisecond), Now: s.Now},
		s.Claim(id, generation, keyspace.NewToken()))
	require.Equal(s, generation, s.Field(id, "g"))
	require.Empty(s, s.Field(id, "s"), "pending")
}

// deliver requires that a message is to be sent now, and delivers it.
func deliver(s *story.Messages, id string) messages.Claim {
	s.Helper()
	nonce := keyspace.NewToken()
	claim := s.Claim(id, s.Field(id, "g"), nonce)
	require.Equal(s, messages.Send, claim.Verdict, id)
	require.True(s, s.Settle(id, s.Field(id, "g"), nonce, messages.Settlement{Outcome: messages.Delivered, Began: claim.Now}))
	return claim
}

// requireDeadLetters requires exactly these dead letters, as "id" and the time
// of day of the end.
func requireDeadLetters(s *story.Messages, wanted ...string) {
	s.Helper()
	entries, err := s.Client.ZRangeWithScores(s.Context(), story.KeysOf(s.Options).DeadLettersOf("alice"), 0, -1).Result()
	require.NoError(s, err)
	var found []string
	for _, e := range entries {
		member, ok := e.Member.(string)
		require.True(s, ok)
		user, id, ok := keyspace.ParseDeadLetterMember(member)
		require.True(s, ok)
		require.Equal(s, "alice", user)
		found = append(found, id+" "+time.UnixMilli(int64(e.Score)).UTC().Format("15:04:05.999"))
	}
	require.Equal(s, wanted, found)
}

func TestASettlementCountsAfterTheLeaseAndARenewal(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("11:00")
	s.Claim("a", "g1", "n1")
	s.Wait(story.Lease)
	due, _, err := s.Watch.Due(t.Context(), s.Now, 10)
	require.NoError(t, err)
	require.Equal(t, []sendlimit.Timer{{User: "alice", ID: "a", Generation: "g1", Due: s.Now}}, due)
	renewal, renewed, err := s.Watch.Renew(t.Context(), due[0], "g2", true, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Renewed, renewal, "whatever the queue has: nobody delivers it")
	require.Equal(t, s.Now, renewed.Due)
	s.Watched("g2/a 11:00:40")

	require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered, Began: story.At("11:00")}), "nobody else claimed it")
	require.Equal(t, messages.Stale, s.Claim("a", "g2", "n2").Verdict)
	s.Watched()
}

func TestPlacesOfWhatHasEndedAreTrimmed(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("done", "11:00", "g1", "text")
	s.Submit("waits", "11:01", "g2", "text")
	s.Until("11:00")
	deliver(s, "done")
	s.Until("12:00")
	s.Submit("new", "13:00", "g3", "text")
	members, err := s.Client.ZRange(t.Context(), s.Key(), 0, -1).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"waits", "new"}, members)
	expires, err := s.Client.PExpireTime(t.Context(), s.Key()).Result()
	require.NoError(t, err)
	require.Equal(t, story.At("23 13:00").UnixMilli(), expires.Milliseconds(), "as long as the last can be sent")
}

// The timeline does not expire before its messages, in whatever order they were
// submitted.
func TestATimelineLivesAsLongAsItsMessages(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "3/minute")
	far := sendlimit.Request{ID: "far", At: story.At("15:00"), Record: story.RecordOf("g1", "text")}
	far.Record.ExpiresAt = story.At("15:01")
	s.Ask(far)
	for i, when := range []string{"15:00", "11:00", "14:59:30"} {
		r := sendlimit.Request{ID: fmt.Sprint("m", i), At: story.At(when), Record: story.RecordOf("g2", "text")}
		r.Record.ExpiresAt = story.At("24 11:00").Add(time.Duration(i) * time.Hour)
		require.True(t, s.Ask(r).Allowed)
		expires := s.Client.PExpireTime(t.Context(), s.Key()).Val()
		require.Equal(t, r.Record.ExpiresAt.UnixMilli(), expires.Milliseconds())
	}
}

func TestDeadLettersAreForgottenWithTheirRecords(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), KeepRecords: time.Hour})
	fail := func(id, when string) {
		s.Submit(id, when, "g-"+id, "text")
		s.Until(when)
		s.Claim(id, "g-"+id, "n1")
		require.True(t, s.Settle(id, "g-"+id, "n1", messages.Settlement{Outcome: messages.Failed, Reason: "gone"}))
	}
	fail("a", "11:00")
	fail("b", "11:30")
	requireDeadLetters(s, "a 11:00:00", "b 11:30:00")
	fail("c", "12:00:01")
	requireDeadLetters(s, "b 11:30:00", "c 12:00:01")
	require.Negative(t, s.KeptFor("a"))
}

func TestUncertain(t *testing.T) {
	t.Parallel()
	begin := func(o sendlimit.Options) *story.Messages {
		o.Rules = story.RulesBy(t, story.PolicyOf(t, "1/minute"))
		s := story.TellMessages(t, o)
		s.Submit("a", "11:00", "g1", "text")
		s.Until("11:00")
		s.Claim("a", "g1", "n1")
		s.Wait(story.Lease)
		return s
	}
	ended := func(s *story.Messages, claim messages.Claim) {
		require.Equal(t, messages.Claim{Verdict: messages.Dropped, SendAt: story.At("11:00"), Reason: "uncertain", Now: s.Now}, claim)
		require.Equal(t, "u", s.Field("a", "s"))
		require.Equal(t, "text", s.Field("a", "c"))
		s.Holds("a 11:00:00") // it may have been sent, and counts
		requireDeadLetters(s, "a 11:00:30")
		s.Watched()
		require.Equal(t, fault.CodeTooLate, s.Release("a").Code, "its id is not free")
		require.Equal(t, fault.CodeIDReused, s.Submit("a", "15:00", "g9", "other").Code)
		require.False(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered}), "another claim found it")
	}
	t.Run("resend", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{})
		claim := s.Claim("a", "g1", "n2")
		require.Equal(t, messages.Send, claim.Verdict)
		require.Equal(t, 2, claim.Attempt)
		require.Equal(t, story.At("11:00"), claim.Promised, "late by now, and judged so")
	})
	t.Run("skip", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{SkipUncertain: true})
		ended(s, s.Claim("a", "g1", "n2"))
	})
	t.Run("attempts used up", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{Attempts: 1})
		ended(s, s.Claim("a", "g1", "n2"))
	})
	t.Run("postponed, and the first answers at last", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{})
		s.Submit("b", "11:01", "g2", "text")
		requirePostponed(s, s.Claim("a", "g1", "n2"))
		s.Holds("a 11:00:00", "b 11:01:00")
		require.False(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered}), "it will be sent again")
	})
	t.Run("no answer from the provider", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{})
		require.True(t, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Uncertain, Reason: "timeout"}))
		require.Equal(t, "timeout", s.Field("a", "w"))
		requireDeadLetters(s, "a 11:00:30")
		s.Holds("a 11:00:00")
	})
}

// More messages are late than one call of the script places. Every claim gets
// an answer nevertheless, and the order is kept.
func TestBacklogsOfManyMessages(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	left := len(sendlimittest.Seeds(t, 4)) // one takes longer than a history
	rapid.Check(t, func(t *rapid.T) {
		if left--; left >= 0 {
			sendlimittest.CheckBacklog(t, client, fmt.Sprintf("b%d", left))
		}
	})
}

// The search for a free time took several calls: the record names what was in the way
// first, and not what the last call met first.
func TestTheReasonOfALongSearchIsTheFirst(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute", "5/hour")
	s.Submit("a", "11:00", "g1", "text")
	s.Until("12:00")
	const full = 8000 // places, 5 in every hour
	every := 11 * time.Minute
	places := make([]redis.Z, full)
	for i := range places {
		places[i] = redis.Z{Score: float64(s.Now.Add(time.Duration(i) * every).UnixMilli()), Member: fmt.Sprint("m", i)}
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), story.KeysOf(s.Options).Timeline("alice"), places...).Err())
	s.Options.ExpireAfter = 366 * 24 * time.Hour
	gate, err := messages.NewGate(s.Client, s.Options)
	require.NoError(t, err)
	claim, err := gate.Claim(t.Context(), messages.Delivery{User: "alice", ID: "a", Generation: "g1", Nonce: "n1"}, time.Minute, s.Now)
	require.NoError(t, err)
	require.Equal(t, messages.Postponed, claim.Verdict)
	require.Equal(t, s.Now.Add((full-5)*every+time.Hour), claim.Placed[0].Due)
	require.Equal(t, "late 1 60000", s.Field("a", "w"))
}

// A late mark that a step of the clock put ahead of now hides no late message.
func TestALateMarkAheadOfNowIsNotUsed(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute", "2/hour")
	for i, when := range []string{"11:00", "11:01", "12:30"} {
		s.Submit(fmt.Sprint("m", i), when, fmt.Sprint("g", i), "text")
	}
	s.Until("20:00")
	mark := story.KeysOf(s.Options).LateMark("alice")
	require.NoError(t, s.Client.Set(t.Context(), mark, story.At("21:00").UnixMilli(), 0).Err())
	require.Equal(t, messages.Busy, s.Claim("m2", "g2", "n1").Verdict, "m0 goes first")
}

// tellOneBeingSent submits a, b and c for 11:00, 11:01 and 11:02. A worker claims a, and dies.
func tellOneBeingSent(t *testing.T) *story.Messages {
	t.Helper()
	s := story.NewMessages(t, "1/minute")
	for id, at := range map[string]string{"a": "11:00", "b": "11:01", "c": "11:02"} {
		s.Submit(id, at, "g"+id, "text")
	}
	s.Until("11:00")
	require.Equal(t, messages.Send, s.Claim("a", "ga", "n1").Verdict)
	return s
}

// Workers died while they sent a, and the task of b is lost. When c has waited for long enough, b
// gets another task and goes first. It has waited as long.
func TestALateMessageGoesPastOneThatIsBeingSentWithTheOlderOnes(t *testing.T) {
	t.Parallel()
	s := tellOneBeingSent(t)
	s.Until("11:03")
	requireBusy(s, "c")
	s.Until("11:03:29.999")
	require.Equal(t, messages.Busy, s.Claim("c", "gc", "n2").Verdict)
	s.Until("11:03:30")
	requirePostponed(s, s.Claim("c", "gc", "n3"), "b 11:01:00 11:03:30", "c 11:02:00 11:04:30")
	s.Until("11:03:33")
	deliver(s, "b")
}

// Its patience starts when the lease ends, so that a lost task holds nothing up for ever.
// Messages of other classes, and older ones, do not wait.
func TestALateMessageWaitsWithPatienceForOneThatIsBeingSent(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{
		Rules: story.RulesBy(t, addCategory(t, story.PolicyOf(t, "5/hour"), "news", "5/day")),
	})
	s.Submit("first", "10:59:59", "g0", "text")
	s.Submit("a", "11:00:00", "g1", "text")
	s.Submit("b", "11:00:01", "g2", "text")
	require.True(t, s.Ask(sendlimit.Request{ID: "n", At: story.At("11:00:02"), Record: story.Categorized("g3", "news")}).Allowed)
	s.Until("11:00")
	require.Equal(t, messages.Send, s.Claim("a", "g1", "n1").Verdict)
	s.Until("11:00:05")
	deliver(s, "first")
	deliver(s, "n")
	requireBusy(s, "b")
	for _, when := range []string{"11:00:30", "11:00:59.999"} {
		s.Until(when)
		require.Equal(t, messages.Busy, s.Claim("b", "g2", "n2").Verdict, when)
	}
	s.Until("11:01:00")
	deliver(s, "b")
}
