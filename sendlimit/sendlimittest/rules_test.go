package sendlimittest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestEdgesOfASlidingWindow(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	s.refused("11:11:11", "11:10:11", "11:12:11", "1/minute")
	s.refused("11:12:10.999", "11:10:11", "11:12:11", "1/minute")
	s.refused("11:10:11.001", "11:10:11", "11:12:11", "1/minute")
	s.accepted("11:12:11", "11:10:11") // exactly a minute apart
	s.refused("11:11:40", "11:09:11", "11:13:11", "1/minute")
}

func TestBothSidesOfMidnight(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute", "2/calendar_day")
	s.accepted("12:00:00", "23:59:59.999")
	// The minute rule spans midnight, the day rule does not.
	s.refused("23 00:00:00", "", "23 00:00:59.999", "1/minute")
	s.refused("22:00:00", "", "23 00:00:59.999", "2/calendar_day")
	s.refused("23:59:00", "", "23 00:00:59.999", "1/minute", "2/calendar_day")
	s.accepted("23 00:00:59.999", "23 23:59:59.998")
	s.refused("24 00:00:00", "", "24 00:00:59.998", "1/minute")
}

func TestInsertsLookBothWays(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute")
	s.accepted("11:00:00", "11:00:50")
	// Any time between the two is the third within a minute.
	s.refused("11:00:30", "10:59:50", "11:01:00", "2/minute")
	s.accepted("11:01:20")
	// That place was free until the next one was taken.
	s.refused("11:01:00", "10:59:50", "11:01:50", "2/minute")
	s.accepted("11:01:50", "10:59:50")
}

func TestPlacesBetweenNeighboursThatCountingBothSidesWouldRefuse(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute")
	s.accepted("11:00:00", "11:01:10")
	s.accepted("11:00:30") // two neighbours within a minute, but 70 s apart
	s.refused("11:00:31", "10:59:30", "11:01:30", "2/minute")
}

func TestTheSixthOfAnHour(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "5/hour")
	s.accepted("11:00:00", "11:10:00", "11:20:00", "11:30:00", "11:40:00")
	s.refused("11:59:59.999", "10:40:00", "12:00:00", "5/hour")
	s.refused("10:40:00.001", "10:40:00", "12:00:00", "5/hour")
	s.accepted("12:00:00", "10:40:00")
}

func TestNextFreeTimeOfAllRulesTogether(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute", "2/hour", "3/calendar_day")
	s.accepted("22:00:00", "22:30:00")
	// The minute rule allows 22:31:00, the hour rule 23:00:00.
	s.refused("22:30:10", "21:30:00", "23:00:00", "1/minute", "2/hour")
	s.accepted("23:00:00")
	// The hour has room again, the day does not.
	s.refused("23:30:00", "", "23 00:00:00", "3/calendar_day")
}

func TestSameMillisecond(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute")
	require.True(t, s.reserve("b", "11:11:11").Allowed)
	require.True(t, s.reserve("a", "11:11:11").Allowed)
	s.holds("a 11:11:11", "b 11:11:11")
	s.refused("11:11:11", "11:10:11", "11:12:11", "2/minute")
}

func TestConflictsAreThoseOfAllWindowsInTheWay(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute", "4/calendar_day")
	s.accepted("11:00:00", "11:00:20", "11:01:10", "11:01:30")
	d := s.reserve("late", "11:00:50")
	sliding, daily := d.Violations[0], d.Violations[1]
	require.Equal(t, sendlimit.Violation{
		Rule: policy.Rule{Limit: 2, Window: sliding.Rule.Window},
		Conflicts: []keyspace.Reservation{
			{ID: "11:00:00", At: story.At("11:00:00")},
			{ID: "11:00:20", At: story.At("11:00:20")},
			{ID: "11:01:10", At: story.At("11:01:10")},
			{ID: "11:01:30", At: story.At("11:01:30")},
		},
		ConflictsTotal: 4,
	}, sliding)
	require.Equal(t, story.At("00:00:00"), daily.From)
	require.Equal(t, story.At("23 00:00:00"), daily.Until)
	require.Equal(t, 4, daily.ConflictsTotal)

	// Only the last two share an overfull window with this one.
	d = s.reserve("late", "11:01:40")
	require.Equal(t, []keyspace.Reservation{
		{ID: "11:01:10", At: story.At("11:01:10")}, {ID: "11:01:30", At: story.At("11:01:30")},
	}, d.Violations[0].Conflicts)
}

func TestConflictsAreCutAtTen(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "12/minute")
	for i := range 12 {
		require.True(t, s.reserve(fmt.Sprintf("m%02d", 11-i), "11:11:11").Allowed)
	}
	v := s.reserve("late", "11:11:11").Violations[0]
	require.Equal(t, 12, v.ConflictsTotal)
	require.Len(t, v.Conflicts, sendlimit.MaxConflicts)
	require.Equal(t, "m00", v.Conflicts[0].ID)
	require.Equal(t, "m09", v.Conflicts[9].ID)
}

func TestDayOfAnotherZone(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "zone:Europe/Berlin", "1/calendar_day")
	s.now = story.At("2026-10-20T00:00:00Z")
	s.accepted("2026-10-24T22:00:00Z") // 00:00 of a day of 25 hours
	s.refused("2026-10-25T22:59:59.999Z", "2026-10-24T21:59:59.999Z", "2026-10-25T23:00:00Z", "1/calendar_day")
	s.accepted("2026-10-25T23:00:00Z", "2026-10-24T21:59:59.999Z")
}
