package sendlimittest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestNewModelRefusesWhatIsNotValid(t *testing.T) {
	t.Parallel()
	var invalid *fault.InvalidError
	_, err := sendlimittest.NewModel(policy.Policy{Name: "empty"}, time.Hour)
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "rules", invalid.Field)
	_, err = sendlimittest.NewModel(policy.Default(), 0)
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "reach", invalid.Field)
}

func TestPastGraceAndReach(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute")
	s.now = story.At("11:11:11.0009") // cut to 11:11:11
	now := story.At("11:11:11")
	reach := now.Add(policy.DefaultReach)

	require.Equal(t, sendlimit.Decision{Code: fault.CodeInPast, At: story.At("11:11:05.999"), Now: now},
		s.reserve("a", "11:11:05.999"))
	require.Equal(t, sendlimit.Decision{Allowed: true, At: now, RequestedAt: story.At("11:11:06"), Now: now},
		s.reserve("a", "11:11:06"))
	require.Equal(t, sendlimit.Decision{Allowed: true, At: now, Now: now}, s.reserve("b", ""), "no time is now")
	d := s.reserve("c", "11:11:10")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, now, d.At, "judged at now")
	require.Equal(t, story.At("11:11:10"), d.RequestedAt)
	require.Zero(t, d.PreviousFree, "nothing before now is free")

	r := s.request("far", "")
	r.At = reach.Add(time.Millisecond)
	require.Equal(t, sendlimit.Decision{Code: fault.CodeTooFarAhead, At: r.At, Latest: reach, Now: now}, s.model.Reserve(r))
	r.At = reach
	require.True(t, s.model.Reserve(r).Allowed)
}

func TestFreeTimesKeepToTheReach(t *testing.T) {
	t.Parallel()
	policy, err := policy.Parse("test", "", "1/minute")
	require.NoError(t, err)
	model, err := sendlimittest.NewModel(policy, time.Minute)
	require.NoError(t, err)
	s := &modelStory{T: t, model: model, now: story.At("11:00:00")}
	s.accepted("11:00:00.001")
	s.refused("11:00:00.001", "", "", "1/minute")
	require.Equal(t, fault.CodeSendLimit, s.shift("b", "11:00:30", "").Code)
	require.True(t, s.release("11:00:00.001").Allowed)
	s.accepted("11:00:00")
	s.refused("11:00:00.001", "", "11:01:00", "1/minute")
}

func TestCheckTakesNothing(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	for range 2 {
		require.True(t, s.model.Check(s.request("a", "11:11:11")).Allowed)
	}
	s.holds()
	s.accepted("11:11:11")
	require.Equal(t, s.model.Check(s.request("b", "11:11:12")), s.reserve("b", "11:11:12"))
	s.holds("11:11:11 11:11:11")
}

func TestShift(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11", "11:12:30")

	d := s.shift("late", "11:11:12", "11:13:29.999")
	require.Equal(t, fault.CodeSendLimit, d.Code, "a millisecond too short")
	require.Equal(t, story.At("11:13:30"), d.NextFree, "lies beyond")
	require.Equal(t, fault.CodeSendLimit, s.shift("late", "11:11:12", "11:00:00").Code, "no room before it")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, Shifted: true, At: story.At("11:13:30"), RequestedAt: story.At("11:11:12"), Now: s.now},
		s.shift("late", "11:11:12", "11:13:30"))
	require.Equal(t, sendlimit.Decision{Allowed: true, At: story.At("12:00:00"), Now: s.now},
		s.shift("free", "12:00:00", "11:00:00"), "a free time needs no room")
	s.holds("11:11:11 11:11:11", "11:12:30 11:12:30", "late 11:13:30", "free 12:00:00")
}

func TestShiftFromWithinTheGrace(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.now = story.At("11:11:11")
	s.accepted("11:11:11")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, Shifted: true, At: story.At("11:12:11"), RequestedAt: story.At("11:11:08"), Now: s.now},
		s.shift("late", "11:11:08", ""))
}

func TestReplay(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	require.True(t, s.shift("late", "11:11:12", "").Shifted)
	replayed := sendlimit.Decision{Allowed: true, Replayed: true, Now: s.now}

	same := replayed
	same.At = story.At("11:11:11")
	require.Equal(t, same, s.reserve("11:11:11", "11:11:11"))
	require.Equal(t, same, s.shift("11:11:11", "11:11:11", ""), "the very time")

	shifted := replayed
	shifted.At, shifted.RequestedAt, shifted.Shifted = story.At("11:12:11"), story.At("11:11:12"), true
	require.Equal(t, shifted, s.shift("late", "11:11:12", ""))
	require.Equal(t, shifted, s.shift("late", "11:11:12", "11:12:11"), "as far as it was shifted")
	same.At = story.At("11:12:11")
	require.Equal(t, same, s.reserve("late", "11:12:11"))

	reused := sendlimit.Decision{Code: fault.CodeIDReused, At: story.At("11:11:12"), Now: s.now}
	require.Equal(t, reused, s.reserve("late", "11:11:12"), "does not shift")
	require.Equal(t, reused, s.shift("late", "11:11:12", "11:12:10.999"), "not so far")
	reused.At = story.At("11:12:11.001")
	require.Equal(t, reused, s.shift("late", "11:12:11.001", ""), "a shift is to later")
	reused.At = s.now
	require.Equal(t, reused, s.reserve("late", ""), "now is another time")
	s.holds("11:11:11 11:11:11", "late 11:12:11")
}

func TestReplayComesBeforeTheClockAndKnowsTheGrace(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.now = story.At("11:11:11")
	require.True(t, s.reserve("a", "11:11:09").Allowed) // kept at now
	s.now = story.At("11:11:13")
	graced := sendlimit.Decision{
		Allowed: true, Replayed: true, At: story.At("11:11:11"), RequestedAt: story.At("11:11:09"), Now: s.now,
	}
	require.Equal(t, graced, s.reserve("a", "11:11:09"))
	require.Equal(t, graced, s.shift("a", "11:11:09", ""), "it was not shifted")
	s.now = story.At("11:11:30")
	graced.Now = s.now
	require.Equal(t, graced, s.reserve("a", "11:11:09"), "long in the past")
	require.Equal(t, fault.CodeIDReused, s.reserve("a", "11:11:05.999").Code, "more than the grace before it")
}

func TestRelease(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	require.Equal(t, sendlimit.Decision{Allowed: true, At: story.At("11:11:11"), Now: s.now}, s.release("11:11:11"))
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.now}, s.release("11:11:11"))
	s.accepted("11:11:12")
}

func TestMove(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11", "11:13:00")
	moved := sendlimit.Decision{Allowed: true, At: story.At("11:11:40"), MovedFrom: story.At("11:11:11"), Now: s.now}
	require.Equal(t, moved, s.move("11:11:11", "11:11:40"), "not in its own way")
	moved.MovedFrom = moved.At
	require.Equal(t, moved, s.move("11:11:11", "11:11:40"), "changes nothing")

	d := s.move("11:11:11", "11:12:30")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Zero(t, d.MovedFrom)
	require.Equal(t, []keyspace.Reservation{{ID: "11:13:00", At: story.At("11:13:00")}}, d.Violations[0].Conflicts)
	require.Equal(t, story.At("11:12:00"), d.PreviousFree, "its own place is free for it")
	require.Equal(t, story.At("11:14:00"), d.NextFree)
	s.holds("11:11:11 11:11:40", "11:13:00 11:13:00")

	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.now}, s.move("nobody", "12:00:00"))
}

func TestMoveAndTheClock(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	s.now = story.At("11:11:30")
	require.Equal(t,
		sendlimit.Decision{Allowed: true, At: story.At("11:11:11"), MovedFrom: story.At("11:11:11"), Now: s.now},
		s.move("11:11:11", "11:11:11"), "changes nothing, though in the past")
	require.Equal(t,
		sendlimit.Decision{Code: fault.CodeInPast, At: story.At("11:11:12"), Now: s.now}, s.move("11:11:11", "11:11:12"))
	graced := sendlimit.Decision{
		Allowed: true, At: s.now, RequestedAt: story.At("11:11:28"), MovedFrom: story.At("11:11:11"), Now: s.now,
	}
	require.Equal(t, graced, s.move("11:11:11", "11:11:28"))
	graced.MovedFrom = s.now
	require.Equal(t, graced, s.move("11:11:11", "11:11:28"), "now is the place it has")
	s.holds("11:11:11 11:11:30")
}

func TestForgetting(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute", "2/hour")
	s.accepted("11:00:00")
	s.now = story.At("12:00:05") // an hour and the grace later
	s.holds("11:00:00 11:00:00")
	require.Equal(t, fault.CodeIDReused, s.reserve("11:00:00", "13:00:00").Code)
	s.now = story.At("12:00:05.001")
	s.holds()
	require.Equal(t, fault.CodeNotFound, s.release("11:00:00").Code)
	require.True(t, s.reserve("11:00:00", "13:00:00").Allowed)
}

func TestUsersHaveNothingToDoWithEachOther(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	r := s.request("11:11:11", "11:11:11")
	r.User = "bob"
	require.Equal(t, sendlimit.Decision{Allowed: true, At: r.At, Now: s.now}, s.model.Reserve(r))
}
