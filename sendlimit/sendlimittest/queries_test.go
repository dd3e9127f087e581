package sendlimittest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestNextFree(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute", "3/calendar_day")
	s.now = story.At("23:50:00")
	s.accepted("23:57:30")
	next := func(from string, count int) []time.Time {
		return s.model.NextFree(sendlimit.NextFreeRequest{User: "alice", From: story.At(from), Count: count, Now: s.now})
	}
	require.Equal(t, []time.Time{
		story.At("23:56:00"), story.At("23:58:30"), // each counts those before it
		story.At("23 00:00:00"), story.At("23 00:01:00"), story.At("23 00:02:00"),
		story.At("24 00:00:00"),
	}, next("23:56:00", 6))
	require.Equal(t, []time.Time{s.now}, next("11:11:11", 1), "earlier is now")
	require.Equal(t, []time.Time{s.now}, next("", 1))
	reach := s.now.Add(policy.DefaultReach)
	require.Equal(t, []time.Time{reach.Add(-time.Minute), reach},
		next(reach.Add(-time.Minute).Format(time.RFC3339), 5), "none beyond the reach")
	require.Nil(t, next(reach.Add(time.Second).Format(time.RFC3339), 5))
	s.holds("23:57:30 23:57:30")
}

func TestList(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute")
	for _, id := range []string{"c", "a"} {
		require.True(t, s.reserve(id, "11:11:11").Allowed)
	}
	require.True(t, s.reserve("b", "12:00:00").Allowed)
	list := func(r sendlimit.ListRequest) string {
		r.User, r.Now = "alice", s.now
		var ids strings.Builder
		for _, held := range s.model.List(r) {
			ids.WriteString(held.ID)
		}
		return ids.String()
	}
	require.Equal(t, "acb", list(sendlimit.ListRequest{}))
	require.Equal(t, "acb", list(sendlimit.ListRequest{From: story.At("11:11:11"), To: story.At("12:00:00.001")}))
	require.Equal(t, "ac", list(sendlimit.ListRequest{To: story.At("12:00:00")}), "half-open")
	require.Equal(t, "b", list(sendlimit.ListRequest{From: story.At("11:11:11.001")}))
	require.Equal(t, "ac", list(sendlimit.ListRequest{Limit: 2}))
	require.Equal(t, "cb", list(sendlimit.ListRequest{After: keyspace.Reservation{ID: "a", At: story.At("11:11:11")}}))
	require.Equal(t, "b", list(sendlimit.ListRequest{After: keyspace.Reservation{ID: "cc", At: story.At("11:11:11")}}),
		"what it goes on after may be gone")
	require.Nil(t, s.model.List(sendlimit.ListRequest{User: "alice", From: story.At("13:00:00"), Now: s.now}))
	require.Nil(t, s.model.List(sendlimit.ListRequest{User: "nobody", Now: s.now}))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "2/minute", "3/calendar_day")
	s.accepted("11:00:00", "11:00:40", "11:01:10")
	usage := func(when, from, to string) sendlimit.Usage {
		return s.model.Usage(sendlimit.UsageRequest{
			User: "alice", At: story.At(when), From: story.At(from), To: story.At(to), Now: s.now,
		})
	}
	minutes, daily := policy.Rule{Limit: 2, Window: time.Minute}, policy.Rule{Limit: 3, Period: calendar.Day}
	require.Equal(t, sendlimit.Usage{
		At: story.At("11:00:50"), Now: s.now,
		Rules: []sendlimit.RuleUsage{
			// The window from 11:00:40 on has two as well: the earliest counts.
			{Rule: minutes, Used: 2, From: story.At("11:00:00"), Until: story.At("11:01:00")},
			{Rule: daily, Used: 3, From: story.At("00:00:00"), Until: story.At("23 00:00:00")},
		},
	}, usage("11:00:50.0009", "", ""))
	require.Equal(t, []sendlimit.RuleUsage{
		{Rule: minutes, Used: 0, From: story.At("23 09:00:00"), Until: story.At("23 09:01:00")},
		{Rule: daily, Used: 0, From: story.At("23 00:00:00"), Until: story.At("24 00:00:00")},
	}, usage("23 09:00:00", "", "").Rules)
	require.Equal(t, s.now, usage("", "", "").At, "no time is now")

	require.True(t, s.release("11:00:40").Allowed)
	require.Equal(t, []calendar.Stretch{{From: story.At("10:00:00"), Until: story.At("12:00:00")}},
		usage("", "10:00:00", "12:00:00").Free, "two of them 70 s apart forbid nothing")
	s.accepted("11:00:50")
	require.Nil(t, usage("", "10:00:00", "23 00:00:00").Free, "the day is full")
	require.Equal(t, []calendar.Stretch{
		{From: story.At("21 23:00:00"), Until: story.At("22 00:00:00")}, {From: story.At("23 00:00:00"), Until: story.At("23 01:00:00")},
	}, usage("", "21 23:00:00", "23 01:00:00").Free, "the past as well")
}

func TestFreeStretchesOfASlidingRule(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:00:00", "11:02:00", "11:04:30")
	u := s.model.Usage(sendlimit.UsageRequest{User: "alice", From: story.At("11:00:30"), To: story.At("11:05:00"), Now: s.now})
	require.Equal(t, []calendar.Stretch{
		{From: story.At("11:01:00"), Until: story.At("11:01:00.001")}, // that one millisecond
		{From: story.At("11:03:00"), Until: story.At("11:03:30.001")},
	}, u.Free)
}

// Arrivals up to a second late break a rule only if no places within that second keep it.
func TestArrivals(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse(policy.DefaultName, "", "2/10s", "3/calendar_minute")
	require.NoError(t, err)
	p.QuietHours, err = policy.ParseQuietHours("00:02-00:03")
	require.NoError(t, err)
	p.Categories = map[string]policy.CategoryRules{
		"news":  {Rules: []policy.Rule{{Limit: 1, Window: 20 * time.Second}}},
		"codes": {Exempt: true},
	}
	model, err := sendlimittest.NewModel(p, policy.DefaultReach)
	require.NoError(t, err)
	midnight := time.Date(2027, time.March, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		category string
		at       []time.Duration
		faults   int
	}{
		"two in a window":                     {at: []time.Duration{10 * time.Second, 10 * time.Second}},
		"the first of three is a second late": {at: []time.Duration{11 * time.Second, 12 * time.Second, 20 * time.Second}},
		"a millisecond less": {
			at: []time.Duration{11 * time.Second, 12 * time.Second, 20*time.Second - time.Millisecond}, faults: 1,
		},
		"four in a minute": {
			at: []time.Duration{2 * time.Second, 20 * time.Second, 40 * time.Second, 59 * time.Second}, faults: 1,
		},
		"the first is of the minute before": {
			at: []time.Duration{999 * time.Millisecond, 20 * time.Second, 40 * time.Second, 59 * time.Second},
		},
		"its place was before quiet hours": {at: []time.Duration{2*time.Minute + 999*time.Millisecond}},
		"quiet hours":                      {at: []time.Duration{2*time.Minute + time.Second}, faults: 1},
		"quiet hours have ended":           {at: []time.Duration{3 * time.Minute}},
		"a category's own rule": {
			category: "news", at: []time.Duration{10 * time.Second, 20 * time.Second, 39 * time.Second}, faults: 1,
		},
		"exempt": {category: "codes", at: []time.Duration{2*time.Minute + time.Second, 122 * time.Second, 122 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrivals []sendlimittest.Arrival
			for _, at := range c.at {
				arrivals = append(arrivals, sendlimittest.Arrival{ID: at.String(), Category: c.category, At: midnight.Add(at)})
			}
			require.Len(t, model.ArrivalFaults("alice", time.Second, arrivals), c.faults)
		})
	}
}

func TestCloneGoesOnByItself(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	clone := s.model.Clone()
	require.True(t, s.model.Equal(clone))
	s.accepted("12:00:00")
	require.False(t, s.model.Equal(clone))
	require.True(t, clone.Reserve(s.request("a", "12:00:30")).Allowed, "12:00:00 is not taken in the clone")
	s.release("12:00:00")
	s.model.Reserve(s.request("a", "12:00:30"))
	require.True(t, s.model.Equal(clone))
}

// modelStory is a user of a Model. Its clock shows midnight of 2026-11-22 at first.
// Reservations have their time as id.
type modelStory struct {
	*testing.T

	model *sendlimittest.Model
	now   time.Time
}

// newModelStory starts a story under rules; see story.PolicyOf.
func newModelStory(t *testing.T, rules ...string) *modelStory {
	t.Helper()
	model, err := sendlimittest.NewModel(story.PolicyOf(t, rules...), policy.DefaultReach)
	require.NoError(t, err)
	return &modelStory{T: t, model: model, now: story.At("00:00:00")}
}

func (s *modelStory) request(id, when string) sendlimit.Request {
	return sendlimit.Request{User: "alice", ID: id, At: story.At(when), Now: s.now}
}

func (s *modelStory) reserve(id, when string) sendlimit.Decision {
	return s.model.Reserve(s.request(id, when))
}

func (s *modelStory) release(id string) sendlimit.Decision {
	return s.model.Release(sendlimit.ReleaseRequest{User: "alice", ID: id, Now: s.now})
}

// accepted reserves places and requires that they are free. The id of each is
// made of its time.
func (s *modelStory) accepted(whens ...string) {
	s.Helper()
	for _, when := range whens {
		require.Equal(s, sendlimit.Decision{Allowed: true, At: story.At(when), Now: s.now}, s.reserve(story.ID(when), when), when)
	}
}

// holds requires that the user has exactly these reservations, as "id time".
func (s *modelStory) holds(wanted ...string) {
	s.Helper()
	var held []string
	for _, r := range s.model.List(sendlimit.ListRequest{User: "alice", Now: s.now}) {
		held = append(held, r.ID+" "+r.At.Format("15:04:05.999"))
	}
	require.Equal(s, wanted, held)
}
