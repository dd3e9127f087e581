package sendlimit_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// randomTimeline is a timeline with random reservations under random rules.
type randomTimeline struct {
	timeline *sendlimit.Timeline
	client   *redis.Client
	key      string
	now      time.Time
	held     []string
}

// drawTimeline draws rules and reservations. The prefix separates timelines in
// one store.
func drawTimeline(t *rapid.T, client *redis.Client, prefix string) *randomTimeline {
	rules := rapid.SampledFrom([][]string{
		{"1/minute"},
		{"3/minute"},
		{"1/minute", "5/hour"},
		{"2/10s", "3/minute", "4/calendar_minute"},
		{"zone:Europe/Berlin", "1/20s", "6/calendar_hour"},
	}).Draw(t, "rules")
	o := sendlimit.Options{Prefix: prefix, Rules: story.RulesBy(t, story.PolicyOf(t, rules...))}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	c := &randomTimeline{timeline: timeline, client: client, key: story.KeysOf(o).Timeline("alice"), now: story.At("2051-03-26T00:59:00Z")}
	for i := range rapid.IntRange(0, 20).Draw(t, "reservations") {
		id := fmt.Sprintf("m%d", i)
		if c.reserve(t, id, c.drawTime(t)).Allowed {
			c.held = append(c.held, id)
		}
	}
	return c
}

func (c *randomTimeline) drawTime(t *rapid.T) time.Time {
	seconds := rapid.IntRange(0, 7200).Draw(t, "seconds")
	return c.now.Add(time.Duration(seconds)*time.Second + time.Duration(rapid.IntRange(-1, 1).Draw(t, "edge")+1)*time.Millisecond)
}

func (c *randomTimeline) reserve(t *rapid.T, id string, when time.Time) sendlimit.Decision {
	d, err := c.timeline.Reserve(t.Context(), sendlimit.Request{User: "alice", ID: id, At: when, Now: c.now})
	require.NoError(t, err)
	return d
}

func (c *randomTimeline) check(t *rapid.T, when time.Time) sendlimit.Decision {
	d, err := c.timeline.Check(t.Context(), sendlimit.Request{User: "alice", ID: "checked", At: when, Now: c.now})
	require.NoError(t, err)
	return d
}

func (c *randomTimeline) release(t *rapid.T, id string) sendlimit.Decision {
	d, err := c.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id, Now: c.now})
	require.NoError(t, err)
	return d
}

func (c *randomTimeline) members(t *rapid.T) []redis.Z {
	members, err := c.client.ZRangeWithScores(t.Context(), c.key, 0, -1).Result()
	require.NoError(t, err)
	return members
}

// A cancel gave back the wrong amount, or twice, or failed at edges. Here a
// submit and its cancel change nothing, in any order, and a second cancel is
// harmless.
func TestACancelUndoesASubmit(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var crowds atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		c := drawTimeline(t, client, fmt.Sprintf("c%d", crowds.Add(1)))
		before := c.members(t)
		var taken []string
		for i := range rapid.IntRange(1, 6).Draw(t, "submits") {
			id := fmt.Sprintf("x%d", i)
			if c.reserve(t, id, c.drawTime(t)).Allowed {
				taken = append(taken, id)
			}
		}
		for _, id := range rapid.Permutation(taken).Draw(t, "cancels") {
			require.True(t, c.release(t, id).Allowed)
			require.Equal(t, fault.CodeNotFound, c.release(t, id).Code)
		}
		require.Equal(t, before, c.members(t))

		// In reverse: the place of a cancelled reservation is free.
		if len(c.held) > 0 {
			id := rapid.SampledFrom(c.held).Draw(t, "held")
			freed := c.release(t, id)
			require.True(t, c.check(t, freed.At).Allowed)
			require.True(t, c.reserve(t, id, freed.At).Allowed)
			require.Equal(t, before, c.members(t))
		}
	})
}

// A send at the next free time is accepted, a millisecond earlier it is
// refused. The same holds for the previous free time. All times between are
// refused.
func TestHintsAreExact(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var crowds atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		c := drawTimeline(t, client, fmt.Sprintf("c%d", crowds.Add(1)))
		when := c.drawTime(t)
		d := c.check(t, when)
		if d.Allowed {
			return
		}
		require.False(t, d.NextFree.IsZero(), "the reach is a year")
		require.True(t, c.check(t, d.NextFree).Allowed)
		require.False(t, c.check(t, d.NextFree.Add(-time.Millisecond)).Allowed)
		earliest := c.now
		if !d.PreviousFree.IsZero() {
			earliest = d.PreviousFree.Add(time.Millisecond)
			require.True(t, c.check(t, d.PreviousFree).Allowed)
		}
		for range 20 {
			between := rapid.Int64Range(earliest.UnixMilli(), d.NextFree.UnixMilli()-1).Draw(t, "between")
			require.False(t, c.check(t, time.UnixMilli(between)).Allowed)
		}
	})
}

// Reserve accepts the free times of NextFree and the free stretches of Usage.
func TestFreeTimesCanBeTaken(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var crowds atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		c := drawTimeline(t, client, fmt.Sprintf("c%d", crowds.Add(1)))
		usage, err := c.timeline.Usage(t.Context(), sendlimit.UsageRequest{
			User: "alice", From: c.now, To: c.now.Add(2 * time.Hour), Now: c.now,
		})
		require.NoError(t, err)
		for i, s := range usage.Free {
			require.True(t, c.check(t, s.From).Allowed)
			require.True(t, c.check(t, s.Until.Add(-time.Millisecond)).Allowed)
			if i+1 < len(usage.Free) {
				require.False(t, c.check(t, s.Until).Allowed)
			}
		}
		times, err := c.timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{
			User: "alice", From: c.drawTime(t), Count: rapid.IntRange(1, 15).Draw(t, "count"), Now: c.now,
		})
		require.NoError(t, err)
		for i, when := range times {
			require.True(t, c.reserve(t, fmt.Sprintf("free%d", i), when).Allowed, when)
		}
	})
}
