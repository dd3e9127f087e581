package sendlimit_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// newHold returns a hold of the account "acme" that ends at a time.
func newHold(s *story.Messages, attempt, until string) *sendlimit.Hold {
	return &sendlimit.Hold{
		Account: "acme", Attempt: attempt, NotAfter: s.Now.Add(5 * time.Second), Until: story.At(until),
	}
}

func submitHeld(s *story.Messages, id, when, generation string, hold *sendlimit.Hold) sendlimit.Decision {
	s.Helper()
	return s.Ask(sendlimit.Request{ID: id, At: story.At(when), Record: story.RecordOf(generation, "text"), Hold: hold})
}

func moveHeld(s *story.Messages, when, generation string, hold *sendlimit.Hold, former, from string) sendlimit.Decision {
	s.Helper()
	hold.Former = former
	d, err := s.Timeline.Move(s.Context(), sendlimit.MoveRequest{
		User: "alice", ID: "a", At: story.At(when), Generation: generation, Hold: hold, From: story.At(from),
	})
	require.NoError(s, err)
	return d
}

func releaseHeld(s *story.Messages, id string, hold *sendlimit.Hold, former, from string) sendlimit.Decision {
	s.Helper()
	hold.Former = former
	d, err := s.Timeline.Release(s.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id, Hold: hold, From: story.At(from)})
	require.NoError(s, err)
	return d
}

// requireCharges requires the charges in a record.
func requireCharges(s *story.Messages, id, account, attempt string, former ...string) {
	s.Helper()
	found, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Look(s.Context(), "alice", id)
	require.NoError(s, err)
	require.Equal(s, account, found[0].Account)
	require.Equal(s, attempt, found[0].Hold)
	require.Equal(s, former, found[0].FormerHolds)
}

func TestHoldOfASubmit(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	late := newHold(s, "a0", "13:00")
	late.NotAfter = s.Now.Add(-time.Millisecond)
	for _, row := range []struct {
		hold *sendlimit.Hold
		when string
		code fault.Code
	}{
		{late, "12:00", fault.CodeHoldOver},
		{newHold(s, "a0", "12:00"), "12:00", fault.CodeOutsideHold}, // the end is not in it
		{newHold(s, "a0", "00:00"), "", fault.CodeOutsideHold},      // now is past it
		{newHold(s, "a0", "00:00"), "21 23:59:58", fault.CodeOutsideHold},
	} {
		d := submitHeld(s, "a", row.when, "g0", row.hold)
		require.Equal(t, row.code, d.Code)
		require.False(t, d.Allowed)
		require.Empty(t, s.Server.Keys(), "nothing was done")
	}
	last := newHold(s, "a1", "12:00:00.001")
	last.NotAfter = s.Now
	require.True(t, submitHeld(s, "a", "12:00", "g1", last).Allowed, "to the last millisecond of both")
	requireCharges(s, "a", "acme", "a1")

	// A repeated call finds the change, however late it comes.
	s.Wait(time.Hour)
	again := submitHeld(s, "a", "12:00", "g1", last)
	require.True(t, again.Allowed)
	require.False(t, again.Replayed)
	require.True(t, submitHeld(s, "a", "12:00", "g2", newHold(s, "a2", "13:00")).Replayed)
	requireCharges(s, "a", "acme", "a1")
	require.Equal(t, fault.CodeSendLimit, submitHeld(s, "b", "12:00", "g3", newHold(s, "a3", "13:00")).Code)
}

func TestAShiftStaysWithinItsHold(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/hour")
	require.True(t, s.Submit("a", "12:30", "ga", "text").Allowed)
	shift := func(id string, hold *sendlimit.Hold, from string) sendlimit.Decision {
		return s.Ask(sendlimit.Request{
			ID: id, At: story.At("12:45"), Shift: true, SearchFrom: story.At(from), Hold: hold, Record: story.RecordOf("g"+id, "text"),
		})
	}
	d := shift("b", newHold(s, "a1", "13:00"), "")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, story.At("13:30"), d.NextFree)

	d = shift("b", newHold(s, "a2", "14:00"), "13:30")
	require.True(t, d.Allowed)
	require.True(t, d.Shifted)
	require.Equal(t, story.At("13:30"), d.At)
	require.Equal(t, story.At("12:45"), d.RequestedAt)
	requireCharges(s, "b", "acme", "a2")

	// The place that has become free is in another hour, which is not charged.
	require.True(t, s.Release("a").Allowed)
	require.True(t, releaseHeld(s, "b", newHold(s, "r", ""), "a2", "13:30").Allowed)
	d = shift("c", newHold(s, "a3", "15:00"), "14:00")
	require.Equal(t, story.At("14:00"), d.At)
	require.True(t, d.Shifted)
	d = shift("d", newHold(s, "a4", "15:00"), "14:30")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, story.At("12:45"), d.NextFree, "as asked for, though nothing is in the way of it")
	require.Empty(t, d.Violations)
	d = shift("d", newHold(s, "a5", "13:00"), "12:45")
	require.True(t, d.Allowed)
	require.False(t, d.Shifted)
	require.Zero(t, d.RequestedAt)

	// Now is after the start of the search.
	s.Until("16:00")
	d = s.Ask(sendlimit.Request{
		ID: "e", Shift: true, SearchFrom: story.At("15:00"), Hold: newHold(s, "a6", "17:00"), Record: story.RecordOf("ge", "text"),
	})
	require.Equal(t, story.At("16:00"), d.At)
}

func TestHoldOfAMove(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	require.True(t, submitHeld(s, "a", "12:00", "g1", newHold(s, "a1", "13:00")).Allowed)
	for _, row := range []struct{ former, from, until string }{
		{"a0", "12:00", "15:00"},
		{"", "12:00", "15:00"},
		{"a1", "12:00:01", "15:00"},
	} {
		require.Equal(t, fault.CodeChanged, moveHeld(s, "14:00", "g2", newHold(s, "a2", row.until), row.former, row.from).Code)
	}
	require.Equal(t, fault.CodeOutsideHold, moveHeld(s, "14:00", "g2", newHold(s, "a2", "14:00"), "a1", "12:00").Code)
	late := newHold(s, "a2", "15:00")
	s.Wait(5*time.Second + time.Millisecond)
	require.Equal(t, fault.CodeHoldOver, moveHeld(s, "14:00", "g2", late, "a1", "12:00").Code)
	s.Holds("a 12:00:00")
	requireCharges(s, "a", "acme", "a1")

	d := moveHeld(s, "12:00", "g2", newHold(s, "a2", "13:00"), "a1", "12:00")
	require.True(t, d.Allowed)
	require.Equal(t, d.At, d.MovedFrom)
	requireCharges(s, "a", "acme", "a1") // nothing was changed

	hold := newHold(s, "a3", "15:00")
	require.True(t, moveHeld(s, "14:00", "g3", hold, "a1", "12:00").Allowed)
	requireCharges(s, "a", "acme", "a3")
	again := moveHeld(s, "14:00", "g3", hold, "a1", "12:00")
	require.True(t, again.Allowed, "the same call")
	require.Equal(t, story.At("12:00"), again.MovedFrom)

	// A caller without a charge has to look at the record first.
	require.Equal(t, fault.CodeChanged, s.MoveTo("a", "16:00", "g4").Code)
	s.Holds("a 14:00:00")
}

func TestHoldOfARelease(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	require.True(t, submitHeld(s, "a", "12:00", "g1", newHold(s, "a1", "13:00")).Allowed)
	require.Equal(t, fault.CodeChanged, releaseHeld(s, "a", newHold(s, "a2", ""), "a0", "12:00").Code)
	require.Equal(t, fault.CodeChanged, releaseHeld(s, "a", newHold(s, "a2", ""), "a1", "12:01").Code)
	late := newHold(s, "a2", "")
	s.Wait(6 * time.Second)
	require.Equal(t, fault.CodeHoldOver, releaseHeld(s, "a", late, "a1", "12:00").Code)
	s.Holds("a 12:00:00")

	hold := newHold(s, "a3", "")
	d := releaseHeld(s, "a", hold, "a1", "12:00")
	require.True(t, d.Allowed)
	require.False(t, d.Replayed)
	requireCharges(s, "a", "acme", "a3")
	require.False(t, releaseHeld(s, "a", hold, "a1", "12:00").Replayed, "the same call: its charge is not to be held on to")
	require.True(t, releaseHeld(s, "a", newHold(s, "a4", ""), "a1", "12:00").Replayed)
	require.True(t, s.Release("a").Replayed)
	requireCharges(s, "a", "acme", "a3")
}

// The record shows that a change was made under an old, unsettled hold, however
// often the id was used since.
func TestFormerAttemptsAreKept(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	fails := func() { // for good, so that the id is free and nothing was given back
		s.Helper()
		generation := s.Field("a", "g")
		s.Until("12:00")
		require.Equal(t, messages.Send, s.Claim("a", generation, "n").Verdict)
		require.True(t, s.Settle("a", generation, "n", messages.Settlement{Outcome: messages.Failed, Reason: "no"}))
	}
	var former []string
	for i := range 12 {
		attempt := "a" + strconv.Itoa(i)
		require.True(t, submitHeld(s, "a", "12:00", "g"+strconv.Itoa(i), newHold(s, attempt, "13:00")).Allowed)
		requireCharges(s, "a", "acme", attempt, former...)
		former = append([]string{attempt}, former...)
		former = former[:min(len(former), 8)]
		fails()
	}
	// A call without a charge keeps them.
	require.True(t, s.Submit("a", "12:00", "h", "text").Allowed)
	requireCharges(s, "a", "", "", former...)
	require.True(t, strings.HasPrefix(s.Field("a", "y"), ". . a11 a10 "))
	require.True(t, s.Release("a").Allowed)
	require.True(t, submitHeld(s, "a", "12:00", "i", newHold(s, "b", "13:00")).Allowed)
	requireCharges(s, "a", "acme", "b", former...)
	require.True(t, moveHeld(s, "12:30", "j", newHold(s, "c", "13:00"), "b", "12:00").Allowed)
	requireCharges(s, "a", "acme", "c", former...) // of them another account's may be open; its own, b, was settled before the move
	require.True(t, releaseHeld(s, "a", newHold(s, "d", ""), "c", "12:30").Allowed)
	require.True(t, submitHeld(s, "a", "12:00", "k", newHold(s, "e", "13:00")).Allowed)
	requireCharges(s, "a", "acme", "e", append([]string{"d"}, former[:7]...)...)
	require.True(t, releaseHeld(s, "a", newHold(s, "f", ""), "e", "12:00").Allowed)
	require.Equal(t, sendlimit.Recorded{At: story.At("11:59:30"), Now: s.Now}, recordSentMessage(s, "a", "11:59:30", "l", "text"))
	requireCharges(s, "a", "", "", append([]string{"f", "d"}, former[:6]...)...)
}

// The client library repeats a call that timed out. Meanwhile the relay may
// have given the message another generation, a worker may have sent it, or its
// id may be used for another message. The change was made nevertheless, and its
// charge must stay.
func TestAChangeIsKnownByItsAttempt(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	renewed := func() {
		s.Helper()
		require.NoError(s, s.Client.HSet(s.Context(), story.KeysOf(s.Options).Record("alice", "a"), "g", keyspace.NewToken()).Err())
	}
	same := func(d sendlimit.Decision) {
		s.Helper()
		require.True(s, d.Allowed)
		require.False(s, d.Replayed)
	}
	submit, move, release := newHold(s, "a1", "13:00"), newHold(s, "a2", "15:00"), newHold(s, "a3", "")
	same(submitHeld(s, "a", "12:00", "g1", submit))
	renewed()
	same(submitHeld(s, "a", "12:00", "g1", submit))
	same(moveHeld(s, "14:00", "g2", move, "a1", "12:00"))
	renewed()
	again := moveHeld(s, "14:00", "g2", move, "a1", "12:00")
	same(again)
	require.Equal(t, []time.Time{story.At("14:00"), story.At("12:00")}, []time.Time{again.At, again.MovedFrom})

	same(releaseHeld(s, "a", release, "a2", "14:00"))
	same(submitHeld(s, "a", "16:00", "g4", newHold(s, "a4", "17:00")))
	same(releaseHeld(s, "a", release, "a2", "14:00"))
	s.Holds("a 16:00:00") // what has the id now is another message

	last := newHold(s, "a5", "19:00")
	same(moveHeld(s, "18:00", "g5", last, "a4", "16:00"))
	s.Until("18:00")
	require.Equal(t, messages.Send, s.Claim("a", "g5", "n").Verdict)
	same(moveHeld(s, "18:00", "g5", last, "a4", "16:00"))
	renewed()
	same(moveHeld(s, "18:00", "g5", last, "a4", "16:00"))
	require.True(t, s.Settle("a", s.Field("a", "g"), "n", messages.Settlement{Outcome: messages.Failed, Reason: "no"}))
	same(moveHeld(s, "18:00", "g5", last, "a4", "16:00"))
}

// A claim says which account was charged. The daily report needs it.
func TestClaimsSayWhoWasCharged(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	for i, when := range []string{"12:00", "12:01", "12:02"} {
		id := []string{"a", "b", "c"}[i]
		require.True(t, s.Ask(sendlimit.Request{
			ID: id, At: story.At(when), Hold: newHold(s, "t"+id, "13:00"),
			Record: &sendlimit.Record{Generation: "g" + id, Fingerprint: id, ExpiresAt: story.At("12:59")},
		}).Allowed)
	}
	require.True(t, s.Submit("d", "12:03", "gd", "text").Allowed)
	s.Until("12:00")
	claim := s.Claim("a", "ga", "n")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Equal(t, "acme", claim.Account)
	require.Equal(t, claim, s.Claim("a", "ga", "n"), "asked again")
	require.True(t, s.Settle("a", "ga", "n", messages.Settlement{Outcome: messages.Delivered}))
	requireCharges(s, "a", "acme", "ta")

	s.Until("13:30") // what was to be sent before has expired
	claim = s.Claim("b", "gb", "n")
	require.Equal(t, messages.Dropped, claim.Verdict)
	require.Equal(t, "acme", claim.Account)
	require.Equal(t, claim.Account, s.Claim("b", "gb", "n").Account, "asked again")
	claim = s.Claim("d", "gd", "n")
	require.Equal(t, messages.Send, claim.Verdict)
	require.Empty(t, claim.Account)
	require.Equal(t, []messages.Drop{{ID: "c", Reason: messages.ReasonExpired, SendAt: story.At("12:02"), Account: "acme"}}, claim.Dropped)
}

func TestHoldsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	whole := func(change func(*sendlimit.Hold)) *sendlimit.Hold {
		hold := newHold(s, "a", "13:00")
		change(hold)
		return hold
	}
	for field, hold := range map[string]*sendlimit.Hold{
		"account":   whole(func(h *sendlimit.Hold) { h.Account = "Acme Inc." }),
		"attempt":   whole(func(h *sendlimit.Hold) { h.Attempt = "" }),
		"not_after": whole(func(h *sendlimit.Hold) { h.NotAfter = time.Time{} }),
	} {
		_, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{User: "alice", ID: "a", Record: story.RecordOf("g", "text"), Hold: hold})
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
		_, err = s.Timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "a", Generation: "g", Hold: hold})
		require.ErrorAs(t, err, &invalid)
		_, err = s.Timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Hold: hold})
		require.ErrorAs(t, err, &invalid)
	}
	_, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
		User: "alice", ID: "a", SearchFrom: story.At("12:00"), Record: story.RecordOf("g", "text"),
	})
	require.ErrorContains(t, err, "search_from")

	places, err := sendlimit.NewTimeline(s.Client, sendlimit.Options{})
	require.NoError(t, err)
	_, err = places.Reserve(t.Context(), sendlimit.Request{User: "alice", ID: "a", Hold: newHold(s, "a", "13:00")})
	require.ErrorContains(t, err, "this timeline keeps places only")
}
