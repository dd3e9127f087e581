package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestReserveWritesPlaceRecordAndWatchEntry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	d := s.Ask(sendlimit.Request{ID: "a:b", At: story.At("11:11:11.5"), Record: &sendlimit.Record{
		Generation: "g1", Fingerprint: "print", ExpiresAt: story.At("12:00"), Category: "news", Content: []byte("text\x00\xff"),
	}})
	require.Equal(t, sendlimit.Decision{Allowed: true, At: story.At("11:11:11.5"), Now: s.Now}, d)
	s.Holds("a:b 11:11:11.5")
	fields, err := s.Client.HGetAll(t.Context(), story.KeysOf(s.Options).Record("alice", "a:b")).Result()
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"g": "g1", "f": "print", "t": "1795345871500", "x": "1795348800000", "k": "news", "c": "text\x00\xff",
		"A": strconv.FormatInt(s.Now.UnixMilli(), 10),
	}, fields)
	require.Zero(t, s.KeptFor("a:b"), "a message that has not ended never expires")
	s.Watched("g1/a:b 11:09:11.5")
}

func TestWatchEntriesFollowTheMessage(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11.500", "g1", "text")
	s.Watched("g1/a 11:09:11.5")
	s.Wait(time.Second)
	s.Confirm("g1", "11:11:11.500")
	s.Watched("g1/a 11:12:11.5")

	require.True(t, s.MoveTo("a", "12:00", "g2").Allowed)
	s.Watched("g2/a 11:58:00")
	s.Confirm("g1", "11:11:11.500")
	s.Watched("g2/a 11:58:00")
	s.Confirm("g2", "12:00")
	s.Watched("g2/a 12:01:00")

	s.Submit("b", "12:00:30", "g3", "text") // refused
	s.Submit("c", "12:30", "g4", "text")
	s.Watched("g2/a 12:01:00", "g4/c 12:28:00")
	s.Release("a")
	s.Watched("g4/c 12:28:00")
	s.Release("c")
	s.Watched()
}

// A late confirm of an older generation changed the watch entry of the newer
// one, which was then checked too late. Or it restored an entry that had ended.
func TestALateConfirmKeepsTheNewerWatchEntry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	s.MoveTo("a", "15:00", "g2")
	s.Confirm("g1", "11:11:11")
	s.Watched("g2/a 14:58:00")
	s.Release("a")
	s.Confirm("g1", "11:11:11")
	s.Confirm("g2", "15:00")
	s.Watched()
	s.Submit("a", "11:11:11", "g3", "other text")
	s.Confirm("g2", "15:00")
	s.Watched("g3/a 11:09:11")
}

func TestReplayWithRecords(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	s.Submit("b", "11:12:30", "g2", "text")

	d := s.Submit("a", "11:11:11", "g3", "text")
	require.Equal(t, sendlimit.Decision{Allowed: true, Replayed: true, At: story.At("11:11:11"), Now: s.Now}, d)
	require.Equal(t, "g1", s.Field("a", "g"), "a replay changes nothing")
	d = s.Submit("a", "11:11:11", "g3", "other text")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeIDReused, At: story.At("11:11:11"), Now: s.Now}, d)

	d = s.SubmitShifting("s", "11:11:11", "g4")
	shifted := sendlimit.Decision{Allowed: true, Shifted: true, At: story.At("11:13:30"), RequestedAt: story.At("11:11:11"), Now: s.Now}
	require.Equal(t, shifted, d)
	s.Release("b") // so that a place nearer by is free
	shifted.Replayed = true
	require.Equal(t, shifted, s.SubmitShifting("s", "11:11:11", "g5"), "the first answer, not a better one")

	s.MoveTo("s", "15:00", "g6")
	shifted.At = story.At("15:00")
	require.Equal(t, shifted, s.SubmitShifting("s", "11:11:11", "g7"),
		"the present send time, the original requested time")
	s.MoveTo("a", "16:00", "g8")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, Replayed: true, At: story.At("16:00"), RequestedAt: story.At("11:11:11"), Now: s.Now},
		s.Submit("a", "11:11:11", "g9", "text"))
	s.Watched("g6/s 14:58:00", "g8/a 15:58:00")
}

func TestCheckWithRecords(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	check := func(id, content string) sendlimit.Decision {
		d, err := s.Timeline.Check(t.Context(), sendlimit.Request{
			User: "alice", ID: id, At: story.At("11:11:11"), Record: &sendlimit.Record{Fingerprint: content},
		})
		require.NoError(t, err)
		return d
	}
	before := s.Server.Dump()
	require.True(t, check("a", "text").Replayed)
	require.Equal(t, fault.CodeIDReused, check("a", "other text").Code)
	require.Equal(t, fault.CodeSendLimit, check("b", "text").Code)
	require.Equal(t, before, s.Server.Dump())
}

func TestReleaseCancels(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	require.Equal(t, sendlimit.Decision{
		Allowed: true, At: story.At("11:11:11"), Now: s.Now,
		Superseded: sendlimit.Superseded{Generation: "g1", Due: story.At("11:11:11")},
	}, s.Release("a"))
	require.Empty(t, s.Field("a", "c"), "the content is erased at once")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))
	s.Holds()
	s.Watched()

	s.Wait(time.Hour)
	require.Equal(t, sendlimit.Decision{Allowed: true, Replayed: true, At: story.At("11:11:11"), Now: s.Now}, s.Release("a"))
	require.Equal(t, sendlimit.DefaultKeepRecords-time.Hour, s.KeptFor("a"), "cancelling twice does not keep it longer")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.Release("nobody"))
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.MoveTo("a", "12:00", "g2"))

	s.Wait(sendlimit.DefaultKeepRecords)
	require.Negative(t, s.KeptFor("a"))
	require.Equal(t, fault.CodeNotFound, s.Release("a").Code)
}

// The id of a cancelled message was submitted again for the same time with
// other content, while the old task was still waiting. The new content must be
// sent, once.
func TestACancelledIDIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "old text")
	s.Release("a")
	d := s.Submit("a", "11:11:11", "g2", "new text")
	require.Equal(t, sendlimit.Decision{Allowed: true, At: story.At("11:11:11"), Now: s.Now}, d, "a cancelled id is free")
	require.Zero(t, s.KeptFor("a"), "it has not ended, whatever did before it")
	s.Watched("g2/a 11:09:11")

	s.Until("11:11:11")
	require.Equal(t, messages.Stale, s.Claim("a", "g1", "n1").Verdict)
	claim := s.Claim("a", "g2", "n2")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, "new text", string(claim.Content))
	require.True(t, s.Settle("a", "g2", "n2", messages.Settlement{Outcome: messages.Delivered}))
	require.Equal(t, messages.Stale, s.Claim("a", "g1", "n3").Verdict)
	require.Equal(t, messages.Stale, s.Claim("a", "g2", "n4").Verdict)
}

// A message was moved and moved back while tasks for both times were waiting.
// It was delivered twice or at the wrong time.
func TestAMoveThereAndBackSendsOnce(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	require.Equal(t, story.At("11:00"), s.MoveTo("a", "12:00", "g2").MovedFrom)
	require.Equal(t, story.At("12:00"), s.MoveTo("a", "11:00", "g3").MovedFrom)
	s.Holds("a 11:00:00")
	s.Watched("g3/a 10:58:00")

	s.Until("11:00")
	require.Equal(t, messages.Stale, s.Claim("a", "g1", "n1").Verdict)
	require.Equal(t, messages.Send, s.Claim("a", "g3", "n2").Verdict)
	require.True(t, s.Settle("a", "g3", "n2", messages.Settlement{Outcome: messages.Delivered}))
	s.Until("12:00")
	require.Equal(t, messages.Stale, s.Claim("a", "g2", "n3").Verdict)
}

func TestMoveWithRecords(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.Submit("b", "13:00", "g2", "text")

	d := s.MoveTo("a", "13:00:30", "g3")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, "g1", s.Field("a", "g"), "refused: the old place and its task stay")
	require.Equal(t, sendlimit.Decision{Allowed: true, At: story.At("11:00"), MovedFrom: story.At("11:00"), Now: s.Now},
		s.MoveTo("a", "11:00", "g4"))
	require.Equal(t, "g1", s.Field("a", "g"), "nothing changed, and so neither did the generation")
	s.Watched("g1/a 10:58:00", "g2/b 12:58:00")

	require.Equal(t, sendlimit.Decision{
		Allowed: true, At: story.At("12:00"), MovedFrom: story.At("11:00"), Now: s.Now,
		Superseded: sendlimit.Superseded{Generation: "g1", Due: story.At("11:00")},
	}, s.MoveTo("a", "12:00", "g5"))
	s.Holds("a 12:00:00", "b 13:00:00")
	require.Equal(t, "text", s.Field("a", "c"))
}

func TestAMoveKeepsTheFirstRequestedTime(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:00", "g1", "text")
	s.SubmitShifting("s", "11:00:30", "g2")
	s.MoveTo("s", "12:00", "g3")
	s.MoveTo("s", "13:00", "g4")
	s.MoveTo("a", "14:00", "g5")
	s.Until("13:00")
	require.Equal(t, story.At("11:00:30"), s.Claim("s", "g4", "n1").RequestedAt, "not 11:01, where the shift put it, nor 12:00")
	s.Until("14:00")
	require.Equal(t, story.At("11:00"), s.Claim("a", "g5", "n2").RequestedAt)
}

func TestAMoveStaysWithinTheExpiry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	r := sendlimit.Request{ID: "a", At: story.At("11:00"), Record: story.RecordOf("g1", "text")}
	r.Record.ExpiresAt = story.At("12:00")
	require.True(t, s.Ask(r).Allowed)
	require.Equal(t,
		sendlimit.Decision{Code: fault.CodePastExpiry, At: story.At("12:00"), ExpiresAt: story.At("12:00"), Now: s.Now},
		s.MoveTo("a", "12:00", "g2"))
	s.Holds("a 11:00:00")
	require.True(t, s.MoveTo("a", "11:59:59.999", "g3").Allowed)
	s.Until("11:59:59.999")
	require.Equal(t, messages.Send, s.Claim("a", "g3", "n1").Verdict)
}
