package sendlimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Cases that random histories seldom hit: the last millisecond of a bound, and
// reservations directly beyond what a script has read.

func TestShiftUntilIsInclusive(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute")
	s.Accepted("11:11:11")
	ask := func(id, until string) sendlimit.Decision {
		return s.Ask(sendlimit.Request{ID: id, At: story.At("11:11:12"), Shift: true, ShiftUntil: story.At(until)})
	}
	require.Equal(t, fault.CodeSendLimit, ask("a", "11:12:10.999").Code)
	shifted := sendlimit.Decision{Allowed: true, Shifted: true, At: story.At("11:12:11"), RequestedAt: story.At("11:11:12"), Now: s.Now}
	require.Equal(t, shifted, ask("a", "11:12:11"))
	shifted.Replayed = true
	require.Equal(t, shifted, ask("a", "11:12:11"), "the same request again")
	require.Equal(t, fault.CodeIDReused, ask("a", "11:12:10.999").Code, "it could not have got that")
}

func TestTheGraceToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute")
	s.Until("11:11:11")
	require.Equal(t, fault.CodeInPast, s.Reserve("a", "11:11:05.999").Code)
	graced := sendlimit.Decision{Allowed: true, At: story.At("11:11:11"), RequestedAt: story.At("11:11:06"), Now: s.Now}
	require.Equal(t, graced, s.Reserve("a", "11:11:06"))
	graced.Replayed = true
	require.Equal(t, graced, s.Reserve("a", "11:11:06"))
	require.Equal(t, fault.CodeIDReused, s.Reserve("a", "11:11:05.999").Code)
}

func TestForgottenToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute")
	s.Accepted("11:00", "11:10")
	s.Until("11:01:05") // a minute and the grace later
	s.Holds("11:00 11:00:00", "11:10 11:10:00")
	require.Equal(t, fault.CodeIDReused, s.Reserve("11:00", "15:00").Code)
	require.True(t, s.Shift("trims", "11:10").Allowed)
	s.Holds("11:00 11:00:00", "11:10 11:10:00", "trims 11:11:00")
	require.Equal(t, story.At("11:00"), s.Move("11:00", "11:00").At, "it is still there to be moved")
	require.True(t, s.Release("11:00").Allowed)

	s.Until("11:11:05")
	require.Equal(t, story.At("11:10"), s.Move("11:10", "11:10").At)
	s.Wait(time.Millisecond)
	s.Holds("trims 11:11:00")
	require.Equal(t, fault.CodeNotFound, s.Move("11:10", "11:20").Code)
	require.Equal(t, fault.CodeNotFound, s.Release("11:10").Code)
	require.True(t, s.Reserve("11:10", "15:00").Allowed, "its id is free")
}

func TestFreeTimesToTheEndOfTheReach(t *testing.T) {
	t.Parallel()
	s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), Reach: 2 * time.Hour})
	s.Accepted("01:59")
	require.Equal(t, story.At("02:00"), s.Reserve("a", "01:59:30").NextFree)
	s.Release("01:59")
	s.Accepted("01:59:00.001")
	require.Zero(t, s.Reserve("a", "01:59:30").NextFree)
	require.Equal(t, fault.CodeSendLimit, s.Shift("a", "01:59:30").Code)
	times, err := s.Timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{User: "alice", From: story.At("01:58"), Count: 2})
	require.NoError(t, err)
	require.Equal(t, []time.Time{story.At("01:58")}, times)
}

// A reservation at the end of a natural period belongs to the next one, even if
// another rule makes the decision read more.
func TestAPeriodEndsBeforeItsEnd(t *testing.T) {
	t.Parallel()
	s := story.New(t, "2/calendar_minute", "1/10s", "1000/hour")
	s.Accepted("11:11:10", "11:12:00")
	s.RefusedBy("11:11:12", "11:11:00", "11:11:20", "1/10s")
	require.Equal(t, story.At("11:11:20"), s.Shift("a", "11:11:12").At)
}

// Two reservations exactly one window apart do not share a window.
func TestAWindowApartIsNoGroup(t *testing.T) {
	t.Parallel()
	s := story.New(t, "2/minute")
	s.Accepted("11:00", "11:01")
	usage, err := s.Timeline.Usage(t.Context(), sendlimit.UsageRequest{User: "alice", From: story.At("10:58"), To: story.At("11:03")})
	require.NoError(t, err)
	require.Equal(t, []calendar.Stretch{{From: story.At("10:58"), Until: story.At("11:03")}}, usage.Free)
	s.Accepted("10:59:50")
	s.RefusedBy("11:00:10", "10:59:00", "11:00:50", "2/minute")
}

// A reservation does not conflict with itself, even if a search reaches its
// place only later.
func TestAMoveSearchesOverItsOwnPlace(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute")
	s.Accepted("11:00", "11:01:30", "11:10")
	d := s.Move("11:01:30", "11:00:30")
	require.Equal(t, story.At("11:01"), d.NextFree)
	require.Equal(t, story.At("10:59"), d.PreviousFree)
	s.Release("11:10")
	s.Accepted("11:03")
	d = s.Move("11:01:30", "11:03:30")
	require.Equal(t, story.At("11:02"), d.PreviousFree)
}

// A search continues where the decision stopped reading. Reservations at that
// edge are neither read twice nor left out.
func TestTheEdgeOfWhatWasRead(t *testing.T) {
	t.Parallel()
	s := story.New(t, "2/minute")
	s.Accepted("11:00", "11:00:01", "11:01:29.999") // the last one looked at for 11:00:30
	s.RefusedBy("11:00:30", "10:59:01", "11:01:00", "2/minute")

	s = story.New(t, "2/minute")
	s.Accepted("11:00:59", "11:01:00", "10:59:30.001") // the first one
	s.RefusedBy("11:00:30", "11:00:00", "11:01:59", "2/minute")

	s = story.New(t, "1/minute")
	s.Accepted("11:00:00.001", "11:02:00") // the first one not looked at for 11:01
	s.RefusedBy("11:01", "10:59:00.001", "11:03:00", "1/minute")

	s = story.New(t, "1/minute")
	s.Accepted("11:01:59.999", "11:00:00") // the last one before
	s.RefusedBy("11:01", "10:59:00", "11:02:59.999", "1/minute")
}

// More reservations in one millisecond than a script reads in one step.
func TestManyOfOneMillisecond(t *testing.T) {
	t.Parallel()
	s := story.New(t, "41/minute")
	for i := range 40 {
		require.True(t, s.Reserve(fmt.Sprintf("m%02d", i), "11:00").Allowed)
	}
	times, err := s.Timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{User: "alice", From: story.At("11:00"), Count: 2})
	require.NoError(t, err)
	require.Equal(t, []time.Time{story.At("11:00"), story.At("11:01")}, times)
	require.True(t, s.Reserve("m40", "11:00").Allowed)
	d := s.Reserve("m41", "11:00")
	require.Equal(t, 41, d.Violations[0].ConflictsTotal)
	require.Equal(t, "m09", d.Violations[0].Conflicts[9].ID, "the first ten by id")
	require.Equal(t, story.At("10:59"), d.PreviousFree)

	// Every page has other reservations.
	for _, limit := range []int{1, 2, 7, 40} {
		var ids []string
		var after keyspace.Reservation
		for {
			page, err := s.Timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", After: after, Limit: limit})
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			after = page[len(page)-1]
			require.LessOrEqual(t, len(ids), 41)
		}
		require.Len(t, ids, 41)
		require.IsIncreasing(t, ids)
	}
}

// A shift looks for a free time anyway: its refusal has those that it found.
func TestOnlyShiftsHaveFreeTimesThatAreNotAskedFor(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute")
	s.Accepted("11:11:11")
	r := sendlimit.Request{ID: "a", At: story.At("11:11:12")}
	full := s.Ask(r)
	require.Equal(t, story.At("11:12:11"), full.NextFree)
	require.Equal(t, story.At("11:10:11"), full.PreviousFree)

	r.Shift, r.ShiftUntil, r.WithoutFreeTimes = true, story.At("11:11:13"), true
	require.Equal(t, full, s.Ask(r))

	r.Shift, r.ShiftUntil = false, time.Time{}
	bare := full
	bare.NextFree, bare.PreviousFree, bare.WithoutFreeTimes = time.Time{}, time.Time{}, true
	require.Equal(t, bare, s.Ask(r))
	checked, err := s.Timeline.Check(t.Context(), sendlimit.Request{User: "alice", ID: "a", At: r.At, WithoutFreeTimes: true})
	require.NoError(t, err)
	require.Equal(t, bare, checked)
}
