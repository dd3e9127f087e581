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
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The scripts in testdata are those of released versions, as the server ran
// them. They are never changed, only added to.

// previous is a program of the first version on the same store as the present
// one: what it sent to Redis, argument by argument.
type previous struct {
	*testing.T

	client  redis.UniversalClient
	scripts map[string]*redis.Script
	keys    []string // record, timeline, watch list, of the message "a" of alice
}

// What the first version made of the rule 1/minute and of its defaults.
const (
	v1Rules  = "1 60000"
	v1Keep   = 65_000
	v1Reach  = 366 * 24 * 3_600_000
	v1Kept   = 7 * 24 * 3_600_000
	v1Expire = 24 * 3_600_000
	v1Look   = 10_000
)

// What its scripts said first.
const (
	v1Allowed, v1IDReused, v1TooLate, v1NotFound = 0, 2, 3, 4

	v1Send, v1Stale, v1Busy, v1Early, v1Lapsed = 0, 1, 2, 3, 4
)

func newPrevious(t *testing.T, client redis.UniversalClient, keys keyspace.Keys) *previous {
	t.Helper()
	p := &previous{
		T: t, client: client, scripts: map[string]*redis.Script{},
		keys: []string{keys.Record("alice", "a"), keys.Timeline("alice"), keys.Watch("alice")},
	}
	for _, name := range []string{"reserve", "move", "release", "claim", "settle"} {
		text, err := os.ReadFile(filepath.Join("testdata", "scripts.v1", name+".lua"))
		require.NoError(t, err)
		p.scripts[name] = redis.NewScript(string(text))
	}
	return p
}

func (p *previous) run(script string, keys []string, args ...any) []any {
	p.Helper()
	answer, err := p.scripts[script].Run(p.Context(), p.client, keys, args...).Result()
	require.NoError(p, err, script)
	if alone, ok := answer.(int64); ok { // the plain acceptance of reserve
		return []any{int64(v1Allowed), alone}
	}
	reply, ok := answer.([]any)
	require.True(p, ok, "%s: %v", script, answer)
	return reply
}

// byTimeline is the order of the keys of all but claim and settle.
func (p *previous) byTimeline() []string { return []string{p.keys[1], p.keys[0], p.keys[2]} }

func (p *previous) reserve(now, at time.Time, generation, content string) []any {
	p.Helper()
	ms := at.UnixMilli()
	return p.run("reserve", p.byTimeline(), now.UnixMilli(), "a", ms, ms-59_999, ms+59_999, ms+v1Keep,
		v1Keep, v1Reach, v1Rules, "", "", "", v1Look, generation+"/a/alice",
		"g", generation, "f", content, "t", ms, "c", content)
}

func (p *previous) move(now, at time.Time, generation string) []any {
	p.Helper()
	return p.run("move", p.byTimeline(), now.UnixMilli(), "a", at.UnixMilli(), v1Keep, v1Reach, v1Rules, "",
		generation, "/a/alice", v1Look)
}

func (p *previous) release(now time.Time) []any {
	p.Helper()
	return p.run("release", p.byTimeline(), now.UnixMilli(), "a", v1Keep, "/a/alice", v1Kept)
}

func (p *previous) claim(now time.Time, generation, nonce string) []any {
	p.Helper()
	return p.run("claim", p.keys, now.UnixMilli(), generation, nonce, story.Lease.Milliseconds(),
		generation+"/a/alice", "a", v1Kept, v1Expire)
}

// settle records an outcome; more are the generation and the time of a retry.
func (p *previous) settle(now time.Time, generation, nonce, outcome, reason string, more ...any) bool {
	p.Helper()
	args := []any{now.UnixMilli(), generation, nonce, outcome, generation + "/a/alice", "a", v1Kept, v1Keep, reason}
	if len(more) == 2 {
		retry, _ := more[0].(string)
		args = append(args, retry, more[1], retry+"/a/alice", v1Look)
	}
	return p.run("settle", p.keys, args...)[0] == int64(1)
}

// upgrade is a store that programs of both versions use for the message "a" of
// alice, which is to be sent at due.
type upgrade struct {
	*testing.T

	old      *previous
	timeline *sendlimit.Timeline
	gate     *messages.Gate
	watch    *messages.WatchList
	records  *messages.Records
	now, due time.Time
}

// onBothStores tells a story of an upgrade on the embedded store and on Redis.
func onBothStores(t *testing.T, tell func(*upgrade)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		_, client := redistest.Embedded(t)
		tell(newUpgrade(t, client))
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		tell(newUpgrade(t, redistest.Real(t).Client()))
	})
}

func newUpgrade(t *testing.T, client redis.UniversalClient) *upgrade {
	t.Helper()
	o := sendlimit.Options{Records: true, Policy: story.PolicyOf(t, "1/minute")}
	now := time.Now().UTC().Truncate(time.Second)
	u := &upgrade{T: t, old: newPrevious(t, client, story.KeysOf(o)), now: now, due: now.Add(time.Hour)}
	var err error
	u.timeline, err = sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	u.gate, err = messages.NewGate(client, o)
	require.NoError(t, err)
	u.watch, err = messages.NewWatchList(client, o)
	require.NoError(t, err)
	u.records = messages.RecordsOf(u.timeline, client)
	return u
}

// submit is a submit of the present program, of another message too.
func (u *upgrade) submit(id string, at time.Time, generation string) sendlimit.Decision {
	u.Helper()
	d, err := u.timeline.Reserve(u.Context(), sendlimit.Request{
		User: "alice", ID: id, At: at, Now: u.now, Record: story.RecordOf(generation, "text"),
	})
	require.NoError(u, err)
	return d
}

func (u *upgrade) claim(now time.Time, generation, nonce string) messages.Claim {
	u.Helper()
	return u.claimBy(u.gate, now, generation, nonce)
}

func (u *upgrade) claimBy(gate *messages.Gate, now time.Time, generation, nonce string) messages.Claim {
	u.Helper()
	d := messages.Delivery{User: "alice", ID: "a", Generation: generation, Nonce: nonce}
	c, err := gate.Claim(u.Context(), d, story.Lease, now)
	require.NoError(u, err)
	return c
}

func (u *upgrade) settle(now time.Time, generation, nonce string, s messages.Settlement) bool {
	u.Helper()
	held, err := u.gate.Settle(u.Context(), messages.Delivery{User: "alice", ID: "a", Generation: generation, Nonce: nonce}, s, now)
	require.NoError(u, err)
	return held
}

// stands requires that the present program finds the message in a state.
func (u *upgrade) stands(state messages.State) messages.Standing {
	u.Helper()
	standings, err := u.records.Look(u.Context(), "alice", "a")
	require.NoError(u, err)
	require.Equal(u, state, standings[0].State)
	return standings[0]
}

// first is what a reply of the first version says first.
func first(reply []any) int {
	n, _ := reply[0].(int64)
	return int(n)
}

var delivered = messages.Settlement{Delivered: true, ProviderID: "p"} //nolint:gochecknoglobals // a constant table

func TestPitfall43TheNewDeliversWhatTheOldAccepted(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		require.Equal(u, v1Allowed, first(u.old.reserve(u.now, u.due, "g1", "text")))
		require.False(u, u.submit("b", u.due.Add(time.Second), "g2").Allowed, "its place counts")
		require.True(u, u.submit("a", u.due, "g2").Replayed, "its id and fingerprint are known")

		require.Equal(u, messages.Early, u.claim(u.now, "g1", "n0").Verdict)
		c := u.claim(u.due, "g1", "n1")
		require.Equal(u, messages.Send, c.Verdict)
		require.Equal(u, "text", string(c.Content))
		require.Equal(u, v1Busy, first(u.old.claim(u.due, "g1", "n2")))
		require.True(u, u.settle(u.due, "g1", "n1", delivered))
		u.stands(messages.StateDelivered)
		require.Equal(u, v1Stale, first(u.old.claim(u.due, "g1", "n2")))
		require.Equal(u, v1IDReused, first(u.old.reserve(u.due, u.due.Add(time.Hour), "g3", "other")))
	})
}

func TestPitfall43TheNewChangesWhatTheOldAccepted(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		u.old.reserve(u.now, u.due, "g1", "text")
		later := u.due.Add(time.Hour)
		d, err := u.timeline.Move(u.Context(), sendlimit.MoveRequest{User: "alice", ID: "a", At: later, Generation: "g2", Now: u.now})
		require.NoError(u, err)
		require.True(u, d.Allowed)
		require.Equal(u, v1Stale, first(u.old.claim(u.due, "g1", "n1")), "the task of the old place does nothing")

		entry := messages.Watched{User: "alice", ID: "a", Generation: "g2"}
		renewal, due, err := u.watch.Renew(u.Context(), entry, "g3", false, u.now.Add(time.Minute))
		require.NoError(u, err)
		require.Equal(u, messages.Renewed, renewal)
		require.Equal(u, later, due)
		require.Equal(u, v1Stale, first(u.old.claim(later, "g2", "n1")))
		require.Equal(u, v1Send, first(u.old.claim(later, "g3", "n1")), "an old worker has the new timer")
		d, err = u.timeline.Release(u.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Now: later})
		require.NoError(u, err)
		require.Equal(u, fault.CodeTooLate, d.Code)
		require.True(u, u.old.settle(later, "g3", "n1", "p", "unavailable", "g4", later.Add(time.Minute).UnixMilli()))
		d, err = u.timeline.Release(u.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Now: later})
		require.NoError(u, err)
		require.True(u, d.Allowed, "it waits for a retry")
		require.Equal(u, v1Stale, first(u.old.claim(later.Add(time.Minute), "g4", "n2")))
	})
}

func TestPitfall43TheOldDeliversWhatTheNewAccepted(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		require.True(u, u.submit("a", u.due, "g1").Allowed)
		require.Equal(u, v1Early, first(u.old.claim(u.now, "g1", "n0")))
		reply := u.old.claim(u.due, "g1", "n1")
		require.Equal(u, v1Send, first(reply))
		require.Equal(u, "text", reply[6])
		require.Equal(u, messages.Busy, u.claim(u.due, "g1", "n2").Verdict)
		// A retry of the old one, which the new one claims: late by nature.
		again := u.due.Add(time.Minute)
		require.True(u, u.old.settle(u.due, "g1", "n1", "p", "unavailable", "g2", again.UnixMilli()))
		require.Equal(u, messages.Early, u.claim(u.due, "g2", "n2").Verdict)
		c := u.claim(again, "g2", "n2")
		require.Equal(u, messages.Send, c.Verdict)
		require.Equal(u, 2, c.Attempt)
		require.Equal(u, u.due, c.Promised)
		// A retry of the new one, which the old one claims and settles.
		again = again.Add(time.Minute)
		require.True(u, u.settle(u.due, "g2", "n2", messages.Settlement{
			Retry: &messages.Retry{Generation: "g3", At: again}, Reason: "unavailable",
		}))
		require.Equal(u, v1Early, first(u.old.claim(u.due, "g3", "n3")))
		require.Equal(u, v1Send, first(u.old.claim(again, "g3", "n3")))
		require.True(u, u.old.settle(again, "g3", "n3", "d", "provider-7"))
		s := u.stands(messages.StateDelivered)
		require.Equal(u, "provider-7", s.ProviderID)
		require.Equal(u, 3, s.Attempts)
		require.Equal(u, 2*time.Minute, s.Lateness)
	})
}

func TestPitfall43TheOldChangesWhatTheNewAccepted(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		require.True(u, u.submit("a", u.due, "g1").Allowed)
		later := u.due.Add(time.Hour)
		require.Equal(u, v1Allowed, first(u.old.move(u.now, later, "g2")))
		require.Equal(u, messages.Stale, u.claim(u.due, "g1", "n1").Verdict)
		require.Equal(u, u.due, u.stands(messages.StatePending).MovedFrom)
		require.Equal(u, messages.Send, u.claim(later, "g2", "n1").Verdict)
		require.Equal(u, v1TooLate, first(u.old.release(later)))
		require.True(u, u.settle(later, "g2", "n1", messages.Settlement{Failed: true, Reason: "gone"}))

		require.Equal(u, v1Allowed, first(u.old.reserve(later, later.Add(time.Hour), "g3", "other")), "a failed id is free")
		require.Equal(u, v1Allowed, first(u.old.release(later)))
		u.stands(messages.StateCancelled)
		require.Equal(u, messages.Stale, u.claim(later.Add(time.Hour), "g3", "n2").Verdict)
	})
}

func TestPitfall43TheOldClaimsWhatTheNewPostponed(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		u.old.reserve(u.now, u.due, "g1", "text")
		require.True(u, u.submit("ahead", u.due.Add(10*time.Minute), "g2").Allowed)
		c := u.claim(u.due.Add(9*time.Minute+30*time.Second), "g1", "n1") // half a minute before the other
		require.Equal(u, messages.Postponed, c.Verdict)
		to := u.due.Add(11 * time.Minute)
		require.Equal(u, to, c.Placed[0].At)
		generation := c.Placed[0].Generation

		require.Equal(u, v1Stale, first(u.old.claim(c.Now, "g1", "n2")), "the task it was postponed from")
		require.Equal(u, v1Early, first(u.old.claim(c.Now, generation, "n2")))
		require.Equal(u, v1Send, first(u.old.claim(to, generation, "n2")))
		require.False(u, u.settle(to, "g1", "n1", delivered))
		require.True(u, u.old.settle(to, generation, "n2", "d", ""))
		require.Equal(u, 11*time.Minute, u.stands(messages.StateDelivered).Lateness)
	})
}

// A move by the old is a promise anew, though it leaves the old promise of what
// the new had postponed.
func TestPitfall43TheOldMovesWhatTheNewPostponed(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		require.True(u, u.submit("a", u.due, "g1").Allowed)
		require.True(u, u.submit("ahead", u.due.Add(10*time.Minute), "g2").Allowed)
		c := u.claim(u.due.Add(9*time.Minute+30*time.Second), "g1", "n1")
		require.Equal(u, messages.Postponed, c.Verdict)
		later := u.due.Add(3 * sendlimit.DefaultExpireAfter)
		require.Equal(u, v1Allowed, first(u.old.move(c.Now, later, "g3")))
		require.Zero(u, u.stands(messages.StatePending).Promised)
		require.Equal(u, messages.Send, u.claim(later.Add(time.Hour), "g3", "n2").Verdict, "late, and not yet expired")
		require.Equal(u, later, u.stands(messages.StateSending).Promised)
	})
}

// Whoever dies in a delivery, the other version takes the message over when the
// lease is over, and not before.
func TestPitfall43LeftInTheMiddleOfADelivery(t *testing.T) {
	t.Parallel()
	t.Run("by the old", func(t *testing.T) {
		t.Parallel()
		onBothStores(t, func(u *upgrade) {
			u.old.reserve(u.now, u.due, "g1", "text")
			require.Equal(u, v1Send, first(u.old.claim(u.due, "g1", "n1")))
			over := u.due.Add(story.Lease)
			require.Equal(u, messages.Busy, u.claim(over.Add(-time.Millisecond), "g1", "n2").Verdict)
			renewal, due, err := u.watch.Renew(u.Context(), messages.Watched{User: "alice", ID: "a", Generation: "g1"}, "g2", false, over)
			require.NoError(u, err)
			require.Equal(u, messages.Renewed, renewal)
			require.Equal(u, over, due)
			c := u.claim(over, "g2", "n2")
			require.Equal(u, messages.Send, c.Verdict)
			require.Equal(u, 2, c.Attempt)
			require.False(u, u.old.settle(over, "g1", "n1", "d", ""), "it has lost the message")
			require.True(u, u.settle(over, "g2", "n2", delivered))
		})
	})
	t.Run("by the new", func(t *testing.T) {
		t.Parallel()
		onBothStores(t, func(u *upgrade) {
			u.submit("a", u.due, "g1")
			require.Equal(u, messages.Send, u.claim(u.due, "g1", "n1").Verdict)
			over := u.due.Add(story.Lease)
			require.Equal(u, v1Busy, first(u.old.claim(over.Add(-time.Millisecond), "g1", "n2")))
			require.Equal(u, v1Send, first(u.old.claim(over, "g1", "n2")))
			require.False(u, u.settle(over, "g1", "n1", delivered), "it has lost the message")
			require.True(u, u.old.settle(over, "g1", "n2", "d", ""))
			u.stands(messages.StateDelivered)
		})
	})
}

// What the new one has ended in a way that the old one does not know is over
// for the old one, too: it neither sends it, nor fails.
func TestPitfall43TheOldSendsNothingThatTheNewEnded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end     func(*upgrade)
		state   messages.State
		release int // what the old one answers to a release and a move
		again   int // and to another message with the id
	}{
		"uncertain": {func(u *upgrade) {
			require.Equal(u, messages.Send, u.claim(u.due, "g1", "n1").Verdict)
			require.True(u, u.settle(u.due, "g1", "n1", messages.Settlement{Uncertain: true, Reason: "uncertain"}))
		}, messages.StateUncertain, v1TooLate, v1IDReused},
		"failed": {func(u *upgrade) {
			require.Equal(u, messages.Send, u.claim(u.due, "g1", "n1").Verdict)
			require.True(u, u.settle(u.due, "g1", "n1", messages.Settlement{Failed: true, Reason: "gone"}))
		}, messages.StateFailed, v1NotFound, v1Allowed},
		"restored": {func(u *upgrade) {
			o := sendlimit.Options{Records: true, Policy: story.PolicyOf(u.T, "1/minute"), DropDueBefore: u.due.Add(time.Millisecond)}
			gate, err := messages.NewGate(u.old.client, o)
			require.NoError(u, err)
			require.Equal(u, messages.ReasonRestored, u.claimBy(gate, u.due, "g1", "n1").Reason)
		}, messages.StateUncertain, v1TooLate, v1IDReused},
		"expired": {func(u *upgrade) {
			require.Equal(u, messages.ReasonExpired, u.claim(u.due.Add(25*time.Hour), "g1", "n1").Reason)
		}, messages.StateDropped, v1NotFound, v1Allowed},
		"recorded": {func(u *upgrade) {
			require.Equal(u, v1Allowed, first(u.old.release(u.now)))
			recorded, err := u.timeline.RecordSent(u.Context(), sendlimit.SentRequest{
				User: "alice", ID: "a", At: u.now, Record: story.RecordOf("g7", "text"), Now: u.now,
			})
			require.NoError(u, err)
			require.Equal(u, sendlimit.Recorded{At: u.now, Now: u.now}, recorded)
		}, messages.StateDelivered, v1TooLate, v1IDReused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothStores(t, func(u *upgrade) {
				u.submit("a", u.due, "g1")
				row.end(u)
				for _, now := range []time.Time{u.now, u.due, u.due.Add(time.Hour), u.due.Add(48 * time.Hour)} {
					require.Equal(u, v1Stale, first(u.old.claim(now, "g1", "n2")))
					require.NotEqual(u, v1Send, first(u.old.claim(now, "g1", "n1")), "nor with the nonce that ended it")
					require.False(u, u.old.settle(now, "g1", "n2", "d", ""))
				}
				require.Equal(u, row.release, first(u.old.release(u.due)))
				require.Equal(u, row.release, first(u.old.move(u.due, u.due.Add(time.Hour), "g9")))
				u.stands(row.state)
				require.Equal(u, row.again, first(u.old.reserve(u.due, u.due.Add(2*time.Hour), "g5", "other")))
			})
		})
	}
}

// What the old one has ended, the new one reads as it was meant.
func TestPitfall43TheNewReadsWhatTheOldEnded(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(u *upgrade) {
		u.old.reserve(u.now, u.due, "g1", "text")
		require.Equal(u, v1Lapsed, first(u.old.claim(u.due.Add(25*time.Hour), "g1", "n1")))
		require.Equal(u, messages.ReasonExpired, u.stands(messages.StateDropped).Reason)
		require.NotEqual(u, messages.Send, u.claim(u.due.Add(26*time.Hour), "g1", "n2").Verdict)

		u.old.reserve(u.now, u.due, "g2", "text")
		u.old.claim(u.due, "g2", "n1")
		require.True(u, u.old.settle(u.due, "g2", "n1", "f", "gone"))
		require.Equal(u, "gone", u.stands(messages.StateFailed).Reason)
		require.Equal(u, messages.Stale, u.claim(u.due, "g2", "n2").Verdict)
		require.True(u, u.submit("a", u.due.Add(time.Hour), "g3").Allowed)
	})
}
