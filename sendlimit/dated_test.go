package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A search through a dated change takes several calls. A time that becomes free behind it is taken.
func TestAShiftTakesWhatBecomesFreeBehindItsSearch(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"1/hour"}, Changes: []policy.ChangeDocument{{From: "2093-11-23", Rules: []string{"1/hour", "9/day"}}},
	}), func(u *user) {
		u.accepted("a", "22 23:40", "")
		u.accepted("b", "23 00:50", "")
		calls := 0
		u.client.AddHook(afterEach(func() {
			if calls++; calls == 2 { // under the rules of both days
				_, err := u.timeline.Release(u.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "b", Now: story.Ahead("00:00")})
				require.NoError(u, err)
			}
		}))
		r := u.request("c", "22 23:45", "")
		r.Shift, r.ShiftUntil = true, story.Ahead("23 01:00")
		require.Equal(u, story.Ahead("23 00:40"), u.ask(r).At)
		require.Greater(u, calls, 3)
	})
}

// A send time that is just past is judged now, by the rules of now.
func TestASendTimeJustBeforeADatedChange(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"9/hour"}, Changes: []policy.ChangeDocument{{From: "2093-11-22T00:00:00Z", Rules: []string{"1/hour"}}},
	}), func(u *user) {
		u.accepted("a", "00:30", "")
		for _, shift := range []bool{false, true} {
			r := u.request("b", "21 23:59:58", "")
			r.Shift, r.ShiftUntil = shift, story.Ahead("00:10")
			d := u.ask(r)
			require.Equal(u, []string{"1/hour"}, brokenOf(d))
			require.Equal(u, []time.Time{story.Ahead("00:00"), story.Ahead("01:30")}, []time.Time{d.At, d.NextFree})
		}
	})
}

// The search of a shift may go through the change and end behind it, under the rules that the
// send time itself seems to have.
func TestASendTimeJustBeforeAShortDatedChange(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"1/day"}, Changes: []policy.ChangeDocument{
			{From: "2093-11-22T00:00:00Z", Until: "2093-11-22T00:01:00Z", Rules: []string{"1/hour"}},
		},
	}), func(u *user) {
		u.accepted("a", "00:30", "")
		r := u.request("b", "21 23:59:58", "")
		r.Shift, r.ShiftUntil = true, story.Ahead("20:00")
		d := u.ask(r)
		require.Equal(u, []string{"1/hour"}, brokenOf(d), "by the rules of the time that it is judged for")
		require.Equal(u, story.Ahead("00:00"), d.At)
	})
}

// A shift may find nothing until it ends behind the change, under rules that are the same as those of its
// own time. They do not judge the times between.
func TestAShiftThroughADatedChange(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"1/hour"}, Changes: []policy.ChangeDocument{
			{From: "2093-11-22T12:00:00Z", Until: "2093-11-22T13:00:00Z", Rules: []string{"1/3h"}},
		},
	}), func(u *user) {
		u.accepted("a", "11:30", "")
		u.accepted("b", "13:40", "")
		r := u.request("c", "11:30", "")
		r.Shift, r.ShiftUntil = true, story.Ahead("14:00")
		d := u.ask(r)
		require.Equal(u, []string{"1/hour"}, brokenOf(d))
		require.Equal(u, []time.Time{story.Ahead("10:30"), story.Ahead("14:40")}, []time.Time{d.PreviousFree, d.NextFree})
	})
}

// A category that any part of the policy names is known in all of them.
func TestCategoriesOfDatedChanges(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, documented(t, policy.Document{
		Rules: []string{"5/hour"}, Categories: map[string]policy.CategoryDocument{"news": {Rules: []string{"1/hour"}}},
		Changes: []policy.ChangeDocument{{
			From: "2093-11-23", Categories: map[string]policy.CategoryDocument{"offers": {Rules: []string{"1/day"}}, "otp": {Exempt: true}},
		}},
	}), func(u *user) {
		u.accepted("a", "22 10:00", "offers")
		u.accepted("b", "22 10:01", "offers")
		u.accepted("c", "22 10:02", "news")
		require.Equal(u, []string{"news 1/hour"}, brokenOf(u.submit("d", "22 10:03", "news")))
		u.accepted("e", "23 11:00", "news")
		u.accepted("f", "23 11:01", "news")
		u.accepted("g", "23 11:02", "offers")
		require.Equal(u, []string{"offers 1/day"}, brokenOf(u.submit("h", "24 11:01", "offers")))
		d := u.submit("i", "22 12:00", "ads")
		require.Equal(u, fault.CodeUnknownCategory, d.Code)
		require.Equal(u, []string{"news", "offers", "otp"}, d.Categories)
	})
}
