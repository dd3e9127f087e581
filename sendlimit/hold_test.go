package sendlimit_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// held is a hold of the account "acme" that lasts for 5 s from now on.
func (s *messageStory) heldBy(attempt, until string) *sendlimit.Hold {
	return &sendlimit.Hold{
		Account: "acme", Attempt: attempt, NotAfter: s.now.Add(5 * time.Second), Until: at(until),
	}
}

func (s *messageStory) submitHeld(id, when, generation string, hold *sendlimit.Hold) sendlimit.Decision {
	s.Helper()
	return s.ask(sendlimit.Request{ID: id, At: at(when), Record: recordOf(generation, "text"), Hold: hold})
}

func (s *messageStory) moveHeld(when, generation string, hold *sendlimit.Hold, former, from string) sendlimit.Decision {
	s.Helper()
	hold.Former = former
	d, err := s.timeline.Move(s.Context(), sendlimit.MoveRequest{
		User: "alice", ID: "a", At: at(when), Generation: generation, Hold: hold, From: at(from),
	})
	require.NoError(s, err)
	return d
}

func (s *messageStory) releaseHeld(id string, hold *sendlimit.Hold, former, from string) sendlimit.Decision {
	s.Helper()
	hold.Former = former
	d, err := s.timeline.Release(s.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id, Hold: hold, From: at(from)})
	require.NoError(s, err)
	return d
}

// charged requires what the record says of charges.
func (s *messageStory) charged(id, account, attempt string, former ...string) {
	s.Helper()
	found, err := messages.RecordsOf(s.timeline, s.client).Look(s.Context(), "alice", id)
	require.NoError(s, err)
	require.Equal(s, account, found[0].Account)
	require.Equal(s, attempt, found[0].Hold)
	require.Equal(s, former, found[0].FormerHolds)
}

func TestHoldOfASubmit(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	late := s.heldBy("a0", "13:00")
	late.NotAfter = s.now.Add(-time.Millisecond)
	for _, row := range []struct {
		hold *sendlimit.Hold
		when string
		code fault.Code
	}{
		{late, "12:00", fault.CodeHoldOver},
		{s.heldBy("a0", "12:00"), "12:00", fault.CodeOutsideHold}, // the end is not in it
		{s.heldBy("a0", "00:00"), "", fault.CodeOutsideHold},      // now is past it
		{s.heldBy("a0", "00:00"), "21 23:59:58", fault.CodeOutsideHold},
	} {
		d := s.submitHeld("a", row.when, "g0", row.hold)
		require.Equal(t, row.code, d.Code)
		require.False(t, d.Allowed)
		require.Empty(t, s.server.Keys(), "nothing was done")
	}
	last := s.heldBy("a1", "12:00:00.001")
	last.NotAfter = s.now
	require.True(t, s.submitHeld("a", "12:00", "g1", last).Allowed, "to the last millisecond of both")
	s.charged("a", "acme", "a1")

	// What was done stays done, however late it is asked again.
	s.wait(time.Hour)
	again := s.submitHeld("a", "12:00", "g1", last)
	require.True(t, again.Allowed)
	require.False(t, again.Replayed)
	require.True(t, s.submitHeld("a", "12:00", "g2", s.heldBy("a2", "13:00")).Replayed)
	s.charged("a", "acme", "a1")
	require.Equal(t, fault.CodeSendLimit, s.submitHeld("b", "12:00", "g3", s.heldBy("a3", "13:00")).Code)
}

func TestAShiftStaysWithinItsHold(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/hour")
	require.True(t, s.submit("a", "12:30", "ga", "text").Allowed)
	shift := func(id string, hold *sendlimit.Hold, from string) sendlimit.Decision {
		return s.ask(sendlimit.Request{
			ID: id, At: at("12:45"), Shift: true, SearchFrom: at(from), Hold: hold, Record: recordOf("g"+id, "text"),
		})
	}
	d := shift("b", s.heldBy("a1", "13:00"), "")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, at("13:30"), d.NextFree)

	d = shift("b", s.heldBy("a2", "14:00"), "13:30")
	require.True(t, d.Allowed)
	require.True(t, d.Shifted)
	require.Equal(t, at("13:30"), d.At)
	require.Equal(t, at("12:45"), d.RequestedAt)
	s.charged("b", "acme", "a2")

	// What has become free meanwhile is another hour's, and not charged for.
	require.True(t, s.release("a").Allowed)
	require.True(t, s.releaseHeld("b", s.heldBy("r", ""), "a2", "13:30").Allowed)
	d = shift("c", s.heldBy("a3", "15:00"), "14:00")
	require.Equal(t, at("14:00"), d.At)
	require.True(t, d.Shifted)
	d = shift("d", s.heldBy("a4", "15:00"), "14:30")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, at("12:45"), d.NextFree, "as asked for, though nothing is in the way of it")
	require.Empty(t, d.Violations)
	d = shift("d", s.heldBy("a5", "13:00"), "12:45")
	require.True(t, d.Allowed)
	require.False(t, d.Shifted)
	require.Zero(t, d.RequestedAt)

	// Now has moved past where the search is to begin.
	s.until("16:00")
	d = s.ask(sendlimit.Request{
		ID: "e", Shift: true, SearchFrom: at("15:00"), Hold: s.heldBy("a6", "17:00"), Record: recordOf("ge", "text"),
	})
	require.Equal(t, at("16:00"), d.At)
}

func TestHoldOfAMove(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	require.True(t, s.submitHeld("a", "12:00", "g1", s.heldBy("a1", "13:00")).Allowed)
	for _, row := range []struct{ former, from, until string }{
		{"a0", "12:00", "15:00"},
		{"", "12:00", "15:00"},
		{"a1", "12:00:01", "15:00"},
	} {
		require.Equal(t, fault.CodeChanged, s.moveHeld("14:00", "g2", s.heldBy("a2", row.until), row.former, row.from).Code)
	}
	require.Equal(t, fault.CodeOutsideHold, s.moveHeld("14:00", "g2", s.heldBy("a2", "14:00"), "a1", "12:00").Code)
	late := s.heldBy("a2", "15:00")
	s.wait(5*time.Second + time.Millisecond)
	require.Equal(t, fault.CodeHoldOver, s.moveHeld("14:00", "g2", late, "a1", "12:00").Code)
	s.holds("a 12:00:00")
	s.charged("a", "acme", "a1")

	d := s.moveHeld("12:00", "g2", s.heldBy("a2", "13:00"), "a1", "12:00")
	require.True(t, d.Allowed)
	require.Equal(t, d.At, d.MovedFrom)
	s.charged("a", "acme", "a1") // nothing was changed

	hold := s.heldBy("a3", "15:00")
	require.True(t, s.moveHeld("14:00", "g3", hold, "a1", "12:00").Allowed)
	s.charged("a", "acme", "a3")
	again := s.moveHeld("14:00", "g3", hold, "a1", "12:00")
	require.True(t, again.Allowed, "the same call")
	require.Equal(t, at("12:00"), again.MovedFrom)

	// Whoever charges nobody has to look at it first.
	require.Equal(t, fault.CodeChanged, s.moveTo("a", "16:00", "g4").Code)
	s.holds("a 14:00:00")
}

func TestHoldOfARelease(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	require.True(t, s.submitHeld("a", "12:00", "g1", s.heldBy("a1", "13:00")).Allowed)
	require.Equal(t, fault.CodeChanged, s.releaseHeld("a", s.heldBy("a2", ""), "a0", "12:00").Code)
	require.Equal(t, fault.CodeChanged, s.releaseHeld("a", s.heldBy("a2", ""), "a1", "12:01").Code)
	late := s.heldBy("a2", "")
	s.wait(6 * time.Second)
	require.Equal(t, fault.CodeHoldOver, s.releaseHeld("a", late, "a1", "12:00").Code)
	s.holds("a 12:00:00")

	hold := s.heldBy("a3", "")
	d := s.releaseHeld("a", hold, "a1", "12:00")
	require.True(t, d.Allowed)
	require.False(t, d.Replayed)
	s.charged("a", "acme", "a3")
	require.False(t, s.releaseHeld("a", hold, "a1", "12:00").Replayed, "the same call: its charge is not to be held on to")
	require.True(t, s.releaseHeld("a", s.heldBy("a4", ""), "a1", "12:00").Replayed)
	require.True(t, s.release("a").Replayed)
	s.charged("a", "acme", "a3")
}

// Whoever finds a hold of before unsettled has to find that it was made, however
// often the id was used since.
func TestFormerAttemptsAreKept(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	fails := func() { // for good, so that the id is free and nothing was given back
		s.Helper()
		generation := s.field("a", "g")
		s.until("12:00")
		require.Equal(t, messages.Send, s.claim("a", generation, "n").Verdict)
		require.True(t, s.settle("a", generation, "n", messages.Settlement{Failed: true, Reason: "no"}))
	}
	var former []string
	for i := range 12 {
		attempt := "a" + strconv.Itoa(i)
		require.True(t, s.submitHeld("a", "12:00", "g"+strconv.Itoa(i), s.heldBy(attempt, "13:00")).Allowed)
		s.charged("a", "acme", attempt, former...)
		former = append([]string{attempt}, former...)
		former = former[:min(len(former), 8)]
		fails()
	}
	// Who charges nobody keeps them, too.
	require.True(t, s.submit("a", "12:00", "h", "text").Allowed)
	s.charged("a", "", "", former...)
	require.True(t, strings.HasPrefix(s.field("a", "y"), ". . a11 a10 "))
	require.True(t, s.release("a").Allowed)
	require.True(t, s.submitHeld("a", "12:00", "i", s.heldBy("b", "13:00")).Allowed)
	s.charged("a", "acme", "b", former...)
	require.True(t, s.moveHeld("12:30", "j", s.heldBy("c", "13:00"), "b", "12:00").Allowed)
	s.charged("a", "acme", "c", former...) // of them another account's may be open; its own, b, was settled before the move
	require.True(t, s.releaseHeld("a", s.heldBy("d", ""), "c", "12:30").Allowed)
	require.True(t, s.submitHeld("a", "12:00", "k", s.heldBy("e", "13:00")).Allowed)
	s.charged("a", "acme", "e", append([]string{"d"}, former[:7]...)...)
	require.True(t, s.releaseHeld("a", s.heldBy("f", ""), "e", "12:00").Allowed)
	require.Equal(t, sendlimit.Recorded{At: at("11:59:30"), Now: s.now}, s.sent("a", "11:59:30", "l", "text"))
	s.charged("a", "", "", append([]string{"f", "d"}, former[:6]...)...)
}

// Pitfall 48: the client library repeats what timed out, and meanwhile the relay
// may have given the message another generation, a worker may have sent it, or
// somebody may have used its id anew. The change was made all the same, and its
// charge has to stay.
func TestPitfall48AChangeIsKnownByItsAttempt(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	renewed := func() {
		s.Helper()
		require.NoError(s, s.client.HSet(s.Context(), keysOf(s.options).Record("alice", "a"), "g", keyspace.NewToken()).Err())
	}
	same := func(d sendlimit.Decision) {
		s.Helper()
		require.True(s, d.Allowed)
		require.False(s, d.Replayed)
	}
	submit, move, release := s.heldBy("a1", "13:00"), s.heldBy("a2", "15:00"), s.heldBy("a3", "")
	same(s.submitHeld("a", "12:00", "g1", submit))
	renewed()
	same(s.submitHeld("a", "12:00", "g1", submit))
	same(s.moveHeld("14:00", "g2", move, "a1", "12:00"))
	renewed()
	again := s.moveHeld("14:00", "g2", move, "a1", "12:00")
	same(again)
	require.Equal(t, []time.Time{at("14:00"), at("12:00")}, []time.Time{again.At, again.MovedFrom})

	same(s.releaseHeld("a", release, "a2", "14:00"))
	same(s.submitHeld("a", "16:00", "g4", s.heldBy("a4", "17:00")))
	same(s.releaseHeld("a", release, "a2", "14:00"))
	s.holds("a 16:00:00") // what has the id now is another message

	last := s.heldBy("a5", "19:00")
	same(s.moveHeld("18:00", "g5", last, "a4", "16:00"))
	s.until("18:00")
	require.Equal(t, messages.Send, s.claim("a", "g5", "n").Verdict)
	same(s.moveHeld("18:00", "g5", last, "a4", "16:00"))
	renewed()
	same(s.moveHeld("18:00", "g5", last, "a4", "16:00"))
	require.True(t, s.settle("a", s.field("a", "g"), "n", messages.Settlement{Failed: true, Reason: "no"}))
	same(s.moveHeld("18:00", "g5", last, "a4", "16:00"))
}

// A worker learns who was charged, for the numbers of the day.
func TestClaimsSayWhoWasCharged(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	for i, when := range []string{"12:00", "12:01", "12:02"} {
		id := []string{"a", "b", "c"}[i]
		require.True(t, s.ask(sendlimit.Request{
			ID: id, At: at(when), Hold: s.heldBy("t"+id, "13:00"),
			Record: &sendlimit.Record{Generation: "g" + id, Fingerprint: id, ExpiresAt: at("12:59")},
		}).Allowed)
	}
	require.True(t, s.submit("d", "12:03", "gd", "text").Allowed)
	s.until("12:00")
	claim := s.claim("a", "ga", "n")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, "acme", claim.Account)
	require.Equal(t, claim, s.claim("a", "ga", "n"), "asked again")
	require.True(t, s.settle("a", "ga", "n", messages.Settlement{Delivered: true}))
	s.charged("a", "acme", "ta")

	s.until("13:30") // what was to be sent before has expired
	claim = s.claim("b", "gb", "n")
	require.Equal(t, messages.Dropped, claim.Verdict)
	require.Equal(t, "acme", claim.Account)
	require.Equal(t, claim.Account, s.claim("b", "gb", "n").Account, "asked again")
	claim = s.claim("d", "gd", "n")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Empty(t, claim.Account)
	require.Equal(t, []messages.Drop{{ID: "c", Reason: messages.ReasonExpired, SendAt: at("12:02"), Account: "acme"}}, claim.Dropped)
}

func TestHoldsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := newMessages(t, "1/minute")
	whole := func(change func(*sendlimit.Hold)) *sendlimit.Hold {
		hold := s.heldBy("a", "13:00")
		change(hold)
		return hold
	}
	for field, hold := range map[string]*sendlimit.Hold{
		"account":    whole(func(h *sendlimit.Hold) { h.Account = "Acme Inc." }),
		"generation": whole(func(h *sendlimit.Hold) { h.Attempt = "" }),
		"not_after":  whole(func(h *sendlimit.Hold) { h.NotAfter = time.Time{} }),
	} {
		_, err := s.timeline.Reserve(t.Context(), sendlimit.Request{User: "alice", ID: "a", Record: recordOf("g", "text"), Hold: hold})
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
		_, err = s.timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "a", Generation: "g", Hold: hold})
		require.ErrorAs(t, err, &invalid)
		_, err = s.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Hold: hold})
		require.ErrorAs(t, err, &invalid)
	}
	_, err := s.timeline.Reserve(t.Context(), sendlimit.Request{
		User: "alice", ID: "a", SearchFrom: at("12:00"), Record: recordOf("g", "text"),
	})
	require.ErrorContains(t, err, "search_from")

	places, err := sendlimit.NewTimeline(s.client, sendlimit.Options{})
	require.NoError(t, err)
	_, err = places.Reserve(t.Context(), sendlimit.Request{User: "alice", ID: "a", Hold: s.heldBy("a", "13:00")})
	require.ErrorContains(t, err, "this timeline keeps places only")
}
