package sendlimit_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// postponed requires that a task gets nothing to deliver, since its message got
// another time: it and the others that did, "id former new" each.
func (s *messageStory) postponed(claim messages.Claim, placed ...string) {
	s.Helper()
	require.Equal(s, messages.Postponed, claim.Verdict)
	s.placed(claim, placed...)
}

// placed requires what a claim did to late messages, and that their records
// agree.
func (s *messageStory) placed(claim messages.Claim, wanted ...string) {
	s.Helper()
	var found []string
	for _, p := range claim.Placed {
		found = append(found, p.ID+" "+p.From.Format("15:04:05.999")+" "+p.At.Format("15:04:05.999"))
		require.Equal(s, p.Generation, s.field(p.ID, "g"))
	}
	require.Equal(s, wanted, found)
}

// waits requires that a task gets nothing to deliver yet, since an older late
// message can go at once, and that nothing has changed.
func (s *messageStory) waits(id string) {
	s.Helper()
	generation := s.field(id, "g")
	require.Equal(s, messages.Claim{Verdict: messages.Busy, Until: s.now.Add(500 * time.Millisecond), Now: s.now},
		s.claim(id, generation, keyspace.NewToken()))
	require.Equal(s, generation, s.field(id, "g"))
	require.Empty(s, s.field(id, "s"), "pending")
}

// goesOut requires that a message goes out now, and delivers it.
func (s *messageStory) goesOut(id string) messages.Claim {
	s.Helper()
	nonce := keyspace.NewToken()
	claim := s.claim(id, s.field(id, "g"), nonce)
	require.Equal(s, messages.Send, claim.Verdict, id)
	require.True(s, s.settle(id, s.field(id, "g"), nonce, messages.Settlement{Delivered: true, Began: claim.Now}))
	return claim
}

// used is how full the last of the rules is around a time.
func (s *messageStory) used(when time.Time) int {
	s.Helper()
	usage, err := s.timeline.Usage(s.Context(), sendlimit.UsageRequest{User: "alice", At: when})
	require.NoError(s, err)
	return usage.Rules[len(usage.Rules)-1].Used
}

// deadLetters requires that these are listed, "id" and the time of day each
// ended.
func (s *messageStory) deadLetters(wanted ...string) {
	s.Helper()
	entries, err := s.client.ZRangeWithScores(s.Context(), keysOf(s.options).DeadLettersOf("alice"), 0, -1).Result()
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

func TestTheToleranceEndsToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.submit("b", "11:01", "g2", "text")

	s.until("11:00:02")
	require.Zero(t, s.goesOut("a").Promised, "on time")
	s.until("11:01:02.001")
	claim := s.goesOut("b")
	require.Equal(t, s.now, claim.SendAt, "late")
	require.Equal(t, at("11:01"), claim.Promised)
	s.holds("a 11:00:00", "b 11:01:02.001") // an on-time one keeps the time that was promised
}

func TestALateMessageIsSentAtTheRealTime(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:10")
	require.Equal(t, messages.Claim{
		Verdict: messages.Send, SendAt: s.now, Promised: at("11:00"), Attempt: 1, Content: []byte("text"), Now: s.now,
	}, s.claim("a", "g1", "n1"))
	s.wait(time.Second)
	require.True(t, s.settle("a", "g1", "n1", messages.Settlement{Delivered: true, Began: at("11:10")}))
	require.Equal(t, strconv.FormatInt(at("11:00").UnixMilli(), 10), s.field("a", "p"))
	require.Equal(t, strconv.FormatInt(at("11:10").UnixMilli(), 10), s.field("a", "e"), "10 minutes late, though the answer took a second")
	require.False(t, s.submit("b", "11:10:59.999", "g2", "text").Allowed, "it counts where it was sent")
	require.True(t, s.submit("b", "11:11", "g2", "text").Allowed)
}

// After an outage everything due was forwarded at once and burst on each user.
func TestPitfall23ABacklogNeverBursts(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute", "3/hour")
	for i, when := range []string{"11:00", "11:01", "11:02", "12:10", "12:11"} {
		s.submit(fmt.Sprint("m", i), when, fmt.Sprint("g", i), "text")
	}
	s.until("12:30")
	// Whichever task comes first, the oldest goes first, and all else that is late
	// gets its place then, in order.
	s.waits("m3")
	claim := s.goesOut("m0")
	s.placed(claim, "m1 11:01:00 12:31:00", "m2 11:02:00 12:32:00", "m3 12:10:00 13:30:00", "m4 12:11:00 13:31:00")
	require.Equal(t, "late 1 60000", s.field("m1", "w"))
	require.Equal(t, "late 1 60000", s.field("m3", "w"), "the first in the way, though the hour's is too")
	var entries []string
	for i := 1; i < 5; i++ {
		entries = append(entries, fmt.Sprintf("%s/m%d 12:30:10", s.field(fmt.Sprint("m", i), "g"), i))
	}
	slices.Sort(entries) // all at the same time
	s.watched(entries...)
	for i := range 5 {
		require.NotEqual(t, messages.Send, s.claim(fmt.Sprint("m", i), fmt.Sprint("g", i), "n2").Verdict, "an old task")
	}
	for i, when := range []string{"12:31", "12:32", "13:30", "13:31"} {
		s.until(when)
		s.goesOut(fmt.Sprint("m", i+1))
	}
	s.holds("m1 12:31:00", "m2 12:32:00", "m3 13:30:00", "m4 13:31:00") // m0 counts no more
}

// The queue confirmed the task of a generation that a postponement had
// superseded, and nobody looked after the new one in time.
func TestPitfall47ALateConfirmAfterAPostponement(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.submit("ahead", "11:05:30", "g2", "text")
	s.until("11:05")
	s.postponed(s.claim("a", "g1", "n1"), "a 11:00:00 11:06:30")
	s.confirm("g1", "11:00")
	s.watched("g2/ahead 00:00:10", s.field("a", "g")+"/a 11:05:10")
	s.confirm(s.field("a", "g"), "11:06:30")
	s.watched("g2/ahead 00:00:10", s.field("a", "g")+"/a 11:07:30")
}

func TestALateMessageYieldsToThoseOnTime(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("late", "11:00", "g1", "text")
	s.submit("ahead", "11:10:59.999", "g2", "text")
	s.submit("far", "11:13", "g3", "text")
	s.until("11:10")
	// Sent now, it would be within a minute of one that is promised.
	s.postponed(s.claim("late", "g1", "n1"), "late 11:00:00 11:11:59.999")
	s.until("11:10:59.999")
	require.Zero(t, s.goesOut("ahead").Promised, "on time, it overtakes the late one")
	s.until("11:11:59.999")
	require.Equal(t, at("11:00"), s.goesOut("late").Promised)
	s.until("11:13")
	s.goesOut("far")
}

func TestLateMessagesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("b", "11:00", "g1", "text")
	s.submit("a", "11:01", "g2", "text")
	s.until("11:05")
	s.waits("a")
	s.placed(s.goesOut("b"), "a 11:01:00 11:06:00")

	// Late again, they stay behind each other, and behind what is on time.
	s.submit("c", "11:08", "g3", "text")
	s.submit("ahead", "11:09:30", "g4", "text")
	s.until("11:09")
	s.postponed(s.claim("c", "g3", "n2"), "a 11:06:00 11:10:30", "c 11:08:00 11:11:30")
	require.Equal(t, strconv.FormatInt(at("11:01").UnixMilli(), 10), s.field("a", "p"), "the first promise")
}

func TestAPostponementIsBoundedByTheExpiry(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/hour")
	submit := func(id, when, expires string) {
		r := sendlimit.Request{ID: id, At: at(when), Record: recordOf("g-"+id, "text")}
		r.Record.ExpiresAt = at(expires)
		require.True(t, s.ask(r).Allowed)
	}
	submit("gone", "10:00", "13:29:59.999")
	submit("first", "11:00", "20:00")
	submit("short", "12:00", "14:30")
	submit("fits", "13:00", "14:30:00.001")
	s.until("13:30")
	claim := s.goesOut("first")
	s.placed(claim, "fits 13:00:00 14:30:00")
	require.Equal(t, []messages.Drop{
		{ID: "gone", SendAt: at("10:00"), Reason: "expired"},
		{ID: "short", SendAt: at("12:00"), Reason: "no_free_time"},
	}, claim.Dropped, "strictly before its expiry")
	for id, reason := range map[string]string{"gone": "expired", "short": "no_free_time"} {
		require.Equal(t, "x", s.field(id, "s"))
		require.Equal(t, reason, s.field(id, "w"))
		require.Empty(t, s.field(id, "c"))
		require.Equal(t, sendlimit.DefaultKeepRecords, s.keptFor(id))
		require.Equal(t, messages.Stale, s.claim(id, "g-"+id, "n2").Verdict)
	}
	s.holds("first 13:30:00", "fits 14:30:00")
	s.deadLetters()
}

func TestTheClaimedMessageHasNoFreeTime(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/hour")
	r := sendlimit.Request{ID: "a", At: at("11:00"), Record: recordOf("g1", "text")}
	r.Record.ExpiresAt = at("12:30")
	s.ask(r)
	s.submit("ahead", "12:00", "g2", "text")
	s.until("11:30")
	require.Equal(t,
		messages.Claim{Verdict: messages.Dropped, SendAt: at("11:00"), Reason: "no_free_time", Now: s.now},
		s.claim("a", "g1", "n1"))
	s.holds("ahead 12:00:00")
}

func TestARetryIsJudgedAnew(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.submit("b", "11:05:30", "g2", "text")
	s.until("11:00")
	s.claim("a", "g1", "n1")
	s.settle("a", "g1", "n1", messages.Settlement{Retry: &messages.Retry{Generation: "g3", At: at("11:05")}, Reason: "busy"})
	s.until("11:05")
	s.postponed(s.claim("a", "g3", "n2"), "a 11:00:00 11:06:30")
	require.Empty(t, s.field("a", "a"))
	s.until("11:06:30")
	require.Equal(t, 2, s.goesOut("a").Attempt)
}

// A message that waits for its retry is not placed with the late ones, nor is
// one that is being sent.
func TestWhatWaitsOrIsBeingSentStaysWhereItIs(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/10s")
	s.submit("waits", "11:00:00", "g1", "text")
	s.submit("sending", "11:00:10", "g2", "text")
	s.submit("a", "11:00:20", "g3", "text")
	s.until("11:00")
	s.claim("waits", "g1", "n1")
	s.settle("waits", "g1", "n1", messages.Settlement{Retry: &messages.Retry{Generation: "g4", At: at("12:00")}})
	s.until("11:00:10")
	require.Equal(t, messages.Send, s.claim("sending", "g2", "n2").Verdict)
	s.until("11:00:30")
	require.Empty(t, s.goesOut("a").Placed)
	require.Equal(t, messages.Early, s.claim("waits", "g4", "n4").Verdict)
	require.Equal(t, messages.Busy, s.claim("sending", "g2", "n4").Verdict)
}

func TestASettlementCountsAfterTheLeaseAndARenewal(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("a", "11:00", "g1", "text")
	s.until("11:00")
	s.claim("a", "g1", "n1")
	s.wait(lease)
	due, err := s.watch.Due(t.Context(), s.now, 10)
	require.NoError(t, err)
	require.Equal(t, []messages.Watched{{User: "alice", ID: "a", Generation: "g1", Since: s.now}}, due)
	renewal, when, err := s.watch.Renew(t.Context(), due[0], "g2", true, time.Time{})
	require.NoError(t, err)
	require.Equal(t, messages.Renewed, renewal, "whatever the queue has: nobody delivers it")
	require.Equal(t, s.now, when)
	s.watched("g2/a 11:00:40")

	require.True(t, s.settle("a", "g1", "n1", messages.Settlement{Delivered: true, Began: at("11:00")}), "nobody else claimed it")
	require.Equal(t, messages.Stale, s.claim("a", "g2", "n2").Verdict)
	s.watched()
}

// Workers were down for longer than the largest window: what was to be sent
// was forgotten with its place, or expired with the key.
func TestPitfall46DownForLongerThanTheLargestWindow(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute", "2/hour")
	for i, when := range []string{"11:00", "11:01", "12:30"} {
		s.submit(fmt.Sprint("m", i), when, fmt.Sprint("g", i), "text")
	}
	s.until("20:00") // the store's clock too: what would expire has
	require.Equal(t, int64(3), s.client.ZCard(t.Context(), s.key()).Val())
	require.Equal(t, 0, s.used(at("20:00")), "though none counts any more")
	s.submit("new", "20:30", "g9", "text")
	s.wait(16 * time.Millisecond) // a submit at such a moment trims
	s.submit("newer", "20:40", "g8", "text")
	s.postponed(s.claim("m2", "g2", "n1"),
		"m0 11:00:00 21:30:00", "m1 11:01:00 21:40:00", "m2 12:30:00 22:30:00")
}

func TestPlacesOfWhatHasEndedAreTrimmed(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	s.submit("done", "11:00", "g1", "text")
	s.submit("waits", "11:01", "g2", "text")
	s.until("11:00")
	s.goesOut("done")
	s.until("12:00")
	s.submit("new", "13:00", "g3", "text")
	members, err := s.client.ZRange(t.Context(), s.key(), 0, -1).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"waits", "new"}, members)
	expires, err := s.client.PExpireTime(t.Context(), s.key()).Result()
	require.NoError(t, err)
	require.Equal(t, at("23 13:00").UnixMilli(), expires.Milliseconds(), "as long as the last can be sent")
}

// The timeline expires no earlier than any of its messages, in whatever order
// they came.
func TestATimelineLivesAsLongAsItsMessages(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "3/minute")
	far := sendlimit.Request{ID: "far", At: at("15:00"), Record: recordOf("g1", "text")}
	far.Record.ExpiresAt = at("15:01")
	s.ask(far)
	for i, when := range []string{"15:00", "11:00", "14:59:30"} {
		r := sendlimit.Request{ID: fmt.Sprint("m", i), At: at(when), Record: recordOf("g2", "text")}
		r.Record.ExpiresAt = at("24 11:00").Add(time.Duration(i) * time.Hour)
		require.True(t, s.ask(r).Allowed)
		expires := s.client.PExpireTime(t.Context(), s.key()).Val()
		require.Equal(t, r.Record.ExpiresAt.UnixMilli(), expires.Milliseconds())
	}
}

// After a restore from a backup, what was due before it may have been sent:
// it is not sent again, counts, keeps its id, and can be sent by hand.
func TestWhatWasDueBeforeARestoreIsGivenUp(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: policyOf(t, "1/minute"), DropDueBefore: at("11:30")})
	s.submit("old", "11:00", "g1", "text")
	s.submit("older", "11:01", "g2", "text")
	s.submit("new", "11:30", "g3", "text")
	s.until("11:31")
	require.Empty(t, s.goesOut("new").Placed, "nothing that is to be dropped gets another time")
	for id, generation := range map[string]string{"old": "g1", "older": "g2"} {
		sendAt := at("11:00")
		if id == "older" {
			sendAt = at("11:01")
		}
		require.Equal(t,
			messages.Claim{Verdict: messages.Dropped, SendAt: sendAt, Reason: "restored", Now: s.now},
			s.claim(id, generation, "n1"))
		require.Equal(t, "restored", s.field(id, "w"))
		require.Equal(t, "u", s.field(id, "s"))
		require.NotZero(t, s.client.ZScore(t.Context(), s.key(), id).Val(), "its place is kept")
		require.True(t, s.submit(id, sendAt.Format("15:04"), "g9", "text").Replayed, "and its id")
	}
	s.watched()
	s.deadLetters("old 11:31:00", "older 11:31:00")
}

func TestDeadLettersAreForgottenWithTheirRecords(t *testing.T) {
	t.Parallel()
	s := tellMessages(t, sendlimit.Options{Policy: policyOf(t, "1/minute"), KeepRecords: time.Hour})
	fail := func(id, when string) {
		s.submit(id, when, "g-"+id, "text")
		s.until(when)
		s.claim(id, "g-"+id, "n1")
		require.True(t, s.settle(id, "g-"+id, "n1", messages.Settlement{Failed: true, Reason: "gone"}))
	}
	fail("a", "11:00")
	fail("b", "11:30")
	s.deadLetters("a 11:00:00", "b 11:30:00")
	fail("c", "12:00:01")
	s.deadLetters("b 11:30:00", "c 12:00:01")
	require.Negative(t, s.keptFor("a"))
}

func TestUncertain(t *testing.T) {
	t.Parallel()
	begin := func(o sendlimit.Options) *messageStory {
		o.Policy = policyOf(t, "1/minute")
		s := tellMessages(t, o)
		s.submit("a", "11:00", "g1", "text")
		s.until("11:00")
		s.claim("a", "g1", "n1")
		s.wait(lease)
		return s
	}
	ended := func(s *messageStory, claim messages.Claim) {
		require.Equal(t, messages.Claim{Verdict: messages.Dropped, SendAt: at("11:00"), Reason: "uncertain", Now: s.now}, claim)
		require.Equal(t, "u", s.field("a", "s"))
		require.Equal(t, "text", s.field("a", "c"))
		s.holds("a 11:00:00") // it may have been sent, and counts
		s.deadLetters("a 11:00:30")
		s.watched()
		require.Equal(t, fault.CodeTooLate, s.release("a").Code, "its id is not free")
		require.Equal(t, fault.CodeIDReused, s.submit("a", "15:00", "g9", "other").Code)
		require.False(t, s.settle("a", "g1", "n1", messages.Settlement{Delivered: true}), "another claim found it")
	}
	t.Run("resend", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{})
		claim := s.claim("a", "g1", "n2")
		require.Equal(t, messages.Send, claim.Verdict)
		require.Equal(t, 2, claim.Attempt)
		require.Equal(t, at("11:00"), claim.Promised, "late by now, and judged so")
	})
	t.Run("skip", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{SkipUncertain: true})
		ended(s, s.claim("a", "g1", "n2"))
	})
	t.Run("attempts used up", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{Attempts: 1})
		ended(s, s.claim("a", "g1", "n2"))
	})
	t.Run("postponed, and the first answers at last", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{})
		s.submit("b", "11:01", "g2", "text")
		s.postponed(s.claim("a", "g1", "n2"), "a 11:00:00 11:02:00")
		require.False(t, s.settle("a", "g1", "n1", messages.Settlement{Delivered: true}), "it will be sent again")
	})
	t.Run("no answer from the provider", func(t *testing.T) {
		t.Parallel()
		s := begin(sendlimit.Options{})
		require.True(t, s.settle("a", "g1", "n1", messages.Settlement{Uncertain: true, Reason: "timeout"}))
		require.Equal(t, "timeout", s.field("a", "w"))
		s.deadLetters("a 11:00:30")
		s.holds("a 11:00:00")
	})
}

// More messages are late than one call of the script places: every claim is
// answered nonetheless, and order is kept.
func TestABacklogOfManyMessages(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	enough := int64(12) // a backlog takes longer than a history
	if testing.Short() {
		enough = 1
	}
	var backlogs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		if n := backlogs.Add(1); n <= enough {
			sendlimittest.CheckBacklog(t, client, fmt.Sprintf("b%d", n))
		}
	})
}
