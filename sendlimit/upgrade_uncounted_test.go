package sendlimit_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// second is a program of the second version, which judged late messages and knew
// no places beside the timeline, with the rule 1/minute.
type second struct {
	*testing.T

	client  redis.UniversalClient
	scripts map[string]*redis.Script
	keys    keyspace.Keys
}

func newSecond(t *testing.T, client redis.UniversalClient, keys keyspace.Keys) *second {
	t.Helper()
	p := &second{T: t, client: client, keys: keys, scripts: map[string]*redis.Script{}}
	for _, name := range []string{"move", "release", "claim", "settle"} {
		text, err := os.ReadFile(filepath.Join("testdata", "scripts.v2", name+".lua"))
		require.NoError(t, err)
		p.scripts[name] = redis.NewScript(string(text))
	}
	return p
}

func (p *second) run(script string, keys []string, args ...any) int {
	p.Helper()
	reply, err := p.scripts[script].Run(p.Context(), p.client, keys, args...).Slice()
	require.NoError(p, err, script)
	return first(reply)
}

func (p *second) record() string { return p.keys.Record("alice", "a") }

func (p *second) claim(now time.Time, generation, nonce string) int {
	p.Helper()
	return p.run("claim", []string{
		p.record(), p.keys.Timeline("alice"), p.keys.Watch("alice"), p.keys.DeadLettersOf("alice"),
		p.keys.LateMark("alice"), p.keys.Ended("alice"),
	}, now.UnixMilli(), generation, nonce, story.Lease.Milliseconds(), generation+"/a/alice", "a", v1Kept, v1Expire,
		2000, 8, "", v1Keep, v1Reach, v1Rules, "", v1Look, "", "")
}

func (p *second) settle(now time.Time, nonce, outcome, reason string) int {
	p.Helper()
	return p.run("settle", []string{
		p.record(), p.keys.Timeline("alice"), p.keys.Watch("alice"), p.keys.DeadLettersOf("alice"), p.keys.Ended("alice"),
	}, now.UnixMilli(), nonce, outcome, "/a/alice", "a", v1Kept, v1Keep, reason, "")
}

func (p *second) release(now time.Time) int {
	p.Helper()
	return p.run("release", []string{p.keys.Timeline("alice"), p.record(), p.keys.Watch("alice"), p.keys.Ended("alice")},
		now.UnixMilli(), "a", v1Keep, "/a/alice", v1Kept, "", "", "", "")
}

func (p *second) move(now, at time.Time, generation string) int {
	p.Helper()
	return p.run("move", []string{p.keys.Timeline("alice"), p.record(), p.keys.Watch("alice")},
		now.UnixMilli(), "a", at.UnixMilli(), v1Keep, v1Reach, v1Rules, "", "", generation, "/a/alice", v1Look, v1Expire,
		"", "", "", "")
}

// coded is an upgrade under a policy whose category "code" does not count, with
// the message "a" of it.
type coded struct {
	*upgrade

	second *second
	client redis.UniversalClient
	keys   keyspace.Keys
}

// withCodesOnBothStores tells a story of an upgrade that begins with a message
// beside the timeline.
func withCodesOnBothStores(t *testing.T, tell func(*coded)) {
	t.Helper()
	onBothStores(t, func(u *upgrade) {
		o := sendlimit.Options{Records: true, Policy: story.WithCodes(u.T, "1/minute")}
		c := &coded{upgrade: u, client: u.old.client, keys: story.KeysOf(o)}
		c.second = newSecond(u.T, c.client, c.keys)
		var err error
		u.timeline, err = sendlimit.NewTimeline(c.client, o)
		require.NoError(u, err)
		u.gate, err = messages.NewGate(c.client, o)
		require.NoError(u, err)
		c.accept(u.due, "g1")
		tell(c)
	})
}

func (c *coded) accept(at time.Time, generation string) {
	c.Helper()
	d, err := c.timeline.Reserve(c.Context(), sendlimit.Request{
		User: "alice", ID: "a", At: at, Now: c.now, Record: story.Categorized(generation, "code"),
	})
	require.NoError(c, err)
	require.True(c, d.Allowed, "%+v", d)
}

func (c *coded) release(now time.Time) sendlimit.Decision {
	c.Helper()
	d, err := c.timeline.Release(c.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Now: now})
	require.NoError(c, err)
	return d
}

// listed requires where the message is listed, zero for nowhere.
func (c *coded) listed(now, at time.Time) {
	c.Helper()
	list, err := c.timeline.List(c.Context(), sendlimit.ListRequest{User: "alice", Now: now})
	require.NoError(c, err)
	if at.IsZero() {
		require.Empty(c, list)
		return
	}
	require.Equal(c, []keyspace.Reservation{{ID: "a", At: at}}, list)
}

// nowhere requires that nothing is left of the message's places.
func (c *coded) nowhere() {
	c.Helper()
	for _, key := range []string{c.keys.Timeline("alice"), c.keys.Uncounted("alice")} {
		require.ErrorIs(c, c.client.ZScore(c.Context(), key, "a").Err(), redis.Nil, key)
	}
}

func TestPitfall43TheOldDeliversWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	withCodesOnBothStores(t, func(c *coded) {
		require.Equal(c, v1Send, first(c.old.claim(c.due, "g1", "n1")))
		require.True(c, c.old.settle(c.due, "g1", "n1", "d", ""))
		c.stands(messages.StateDelivered)
		c.listed(c.due, c.due)
		require.True(c, c.submit("b", c.due, "g2").Allowed, "it still does not count")
	})
	withCodesOnBothStores(t, func(c *coded) {
		require.Equal(c, v1Send, c.second.claim(c.due, "g1", "n1"))
		require.Equal(c, 1, c.second.settle(c.due, "n1", "d", ""))
		c.stands(messages.StateDelivered)
		c.listed(c.due, c.due)
	})
}

func TestPitfall43TheOldFailsWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	withCodesOnBothStores(t, func(c *coded) {
		require.Equal(c, v1Send, c.second.claim(c.due, "g1", "n1"))
		require.Equal(c, 1, c.second.settle(c.due, "n1", "f", "gone"))
		c.listed(c.due, time.Time{})
		require.Equal(c, fault.CodeNotFound, c.release(c.due).Code)
		again := c.due.Add(time.Hour)
		c.accept(again, "g2")
		c.listed(c.due, again)
		require.True(c, c.release(c.due).Allowed)
		c.nowhere()
	})
}

func TestPitfall43TheOldCancelsWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	withCodesOnBothStores(t, func(c *coded) {
		require.Equal(c, v1Allowed, first(c.old.release(c.now)))
		c.listed(c.now, time.Time{})
		require.Equal(c, messages.Stale, c.claim(c.due, "g1", "n1").Verdict)
		require.True(c, c.submit("a", c.due, "g2").Allowed, "which counts")
		c.listed(c.now, c.due)
		require.True(c, c.release(c.now).Allowed)
		c.listed(c.now, time.Time{})
	})
	withCodesOnBothStores(t, func(c *coded) {
		require.Equal(c, v1Allowed, c.second.release(c.now))
		c.listed(c.now, time.Time{})
		require.True(c, c.release(c.now).Replayed)
	})
}

func TestPitfall43TheOldMovesWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	withCodesOnBothStores(t, func(c *coded) {
		later := c.due.Add(time.Hour)
		require.Equal(c, v1Allowed, c.second.move(c.now, later, "g2"))
		c.listed(c.now, later)
		require.Equal(c, v1Allowed, c.second.move(c.now, c.due, "g3"))
		c.listed(c.now, c.due) // in both
		require.Equal(c, messages.Send, c.claim(c.due, "g3", "n1").Verdict)
		require.True(c, c.settle(c.due, "g3", "n1", messages.Settlement{Failed: true, Reason: "gone"}))
		c.nowhere()
	})
	withCodesOnBothStores(t, func(c *coded) {
		require.Equal(c, v1Allowed, first(c.old.move(c.now, c.due.Add(time.Hour), "g2")))
		require.True(c, c.release(c.now).Allowed)
		c.nowhere()
	})
}

// The old one judges what is late as if it counted; the next of the new ones that
// has it takes it back.
func TestPitfall43TheOldPostponesWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	withCodesOnBothStores(t, func(c *coded) {
		const v2Postponed = 5
		late := c.due.Add(5 * time.Minute)
		require.True(c, c.submit("ahead", late.Add(30*time.Second), "g2").Allowed)
		require.Equal(c, v2Postponed, c.second.claim(late, "g1", "n1"))
		s := c.stands(messages.StatePending)
		require.Equal(c, late.Add(90*time.Second), s.SendAt)
		generation := c.client.HGet(c.Context(), c.keys.Record("alice", "a"), "g").Val()
		require.Equal(c, messages.Send, c.claim(s.SendAt.Add(time.Minute), generation, "n2").Verdict)
		require.NoError(c, c.client.ZScore(c.Context(), c.keys.Uncounted("alice"), "a").Err())
		require.ErrorIs(c, c.client.ZScore(c.Context(), c.keys.Timeline("alice"), "a").Err(), redis.Nil)
		require.True(c, c.settle(s.SendAt, generation, "n2", messages.Settlement{Failed: true, Reason: "gone"}))
		c.nowhere()
	})
}
