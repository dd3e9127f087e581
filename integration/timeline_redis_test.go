package integration_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// What only a real Redis shows: how it writes numbers, when keys expire, and how it
// treats unknown scripts.

// noon returns a time after the server's own clock, so that nothing expires meanwhile.
func noon() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(60 * time.Hour) }

func newTimeline(t *testing.T, client redis.Scripter, o sendlimit.Options, rules ...string) *sendlimit.Timeline {
	t.Helper()
	if len(rules) > 0 {
		p, err := policy.Parse("test", "", rules...)
		require.NoError(t, err)
		o.Rules = story.RulesBy(t, p)
	}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	return timeline
}

func defaultKeys(t *testing.T) keyspace.Keys {
	t.Helper()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	return keys
}

func mustReserve(t *testing.T, timeline *sendlimit.Timeline, r sendlimit.Request) sendlimit.Decision {
	t.Helper()
	d, err := timeline.Reserve(t.Context(), r)
	require.NoError(t, err)
	return d
}

// tostring of a number of 13 digits loses the last digits on a real Redis, but not on
// the embedded store. Everything stored keeps all digits.
func TestEveryMillisecondIsKept(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client()
	o := sendlimit.Options{Records: true}
	timeline := newTimeline(t, client, o)
	gate, err := messages.NewGate(client, o)
	require.NoError(t, err)
	keys, now := defaultKeys(t), noon()
	at := now.Add(time.Hour + 123*time.Millisecond)
	record := func(g string) *sendlimit.Record {
		return &sendlimit.Record{Generation: g, Fingerprint: g, ExpiresAt: at.Add(time.Hour)}
	}
	stored := func(id, field string, want time.Time) {
		t.Helper()
		text, err := client.HGet(t.Context(), keys.Record("alice", id), field).Result()
		require.NoError(t, err)
		require.Equal(t, strconv.FormatInt(want.UnixMilli(), 10), text, "%s of %s", field, id)
	}
	placed := func(key, member string, want time.Time) {
		t.Helper()
		score, err := client.ZScore(t.Context(), key, member).Result()
		require.NoError(t, err)
		require.Equal(t, want, time.UnixMilli(int64(score)).UTC(), member)
	}
	watched := func(id, generation string, want time.Time) {
		t.Helper()
		require.Equal(t, want, story.WatchedOf(t, client, keys, "alice")[keyspace.WatchMember("alice", id, generation)])
	}

	mustReserve(t, timeline, sendlimit.Request{User: "alice", ID: "a", At: at, Record: record("a1"), Now: now})
	placed(keys.Timeline("alice"), "a", at)
	stored("a", "t", at)
	stored("a", "x", at.Add(time.Hour))
	watched("a", "a1", at.Add(-sendlimit.DefaultHorizon))

	// Shifted: the script computes these times.
	d := mustReserve(t, timeline, sendlimit.Request{
		User: "alice", ID: "s", At: at.Add(time.Millisecond), Shift: true, Record: record("s1"), Now: now,
	})
	shifted := at.Add(time.Minute)
	require.Equal(t, shifted, d.At)
	placed(keys.Timeline("alice"), "s", shifted)
	stored("s", "t", shifted)
	stored("s", "r", at.Add(time.Millisecond))

	moved := at.Add(5*time.Minute + time.Millisecond)
	_, err = timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "a", At: moved, Generation: "a2", Now: now})
	require.NoError(t, err)
	placed(keys.Timeline("alice"), "a", moved)
	stored("a", "t", moved)
	stored("a", "m", at)
	watched("a", "a2", moved.Add(-sendlimit.DefaultHorizon))

	held := messages.Delivery{User: "alice", ID: "a", Generation: "a2", Nonce: "n"}
	claimed := moved.Add(77 * time.Millisecond)
	claim, err := gate.Claim(t.Context(), held, 1234*time.Millisecond, claimed)
	require.NoError(t, err)
	require.Equal(t, moved, claim.SendAt)
	require.Equal(t, at, claim.RequestedAt)
	stored("a", "u", claimed.Add(1234*time.Millisecond))
	watched("a", "a2", claimed.Add(1234*time.Millisecond))
	recorded, err := gate.Settle(t.Context(), held, messages.Settlement{Outcome: messages.Delivered}, claimed)
	require.NoError(t, err)
	require.True(t, recorded)
	stored("a", "e", claimed)

	// By the server's own clock too.
	before := time.Now().Add(-time.Second)
	d = mustReserve(t, timeline, sendlimit.Request{User: "bob", ID: "now", Record: record("b1")})
	require.Equal(t, d.Now, d.At)
	require.WithinRange(t, d.Now, before, time.Now().Add(time.Second))
	placed(keys.Timeline("bob"), "now", d.Now)
	stored2, err := client.HGet(t.Context(), keys.Record("bob", "now"), "t").Int64()
	require.NoError(t, err)
	require.Equal(t, d.Now.UnixMilli(), stored2)
}

// "PEXPIREAT … GT" sets nothing on a key without an expiry, and without GT an earlier
// message shortens the life of a later one. So the timeline expires when its latest
// place can be forgotten, in whatever order messages come.
func TestTimelinesExpireAfterTheirLatestPlace(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	client := redistest.Shared(t).Client()
	key, now := defaultKeys(t).Timeline("alice"), noon()
	const keep = time.Hour + policy.Grace
	timeline := newTimeline(t, client, sendlimit.Options{}, "1/minute", "5/hour")
	expires := func(last time.Time) {
		t.Helper()
		at, err := client.PExpireTime(t.Context(), key).Result()
		require.NoError(t, err)
		require.Equal(t, last.Add(keep).UnixMilli(), at.Milliseconds())
	}
	reserve := func(id string, at time.Time, shift bool) sendlimit.Decision {
		return mustReserve(t, timeline, sendlimit.Request{User: "alice", ID: id, At: at, Shift: shift, Now: now})
	}
	require.True(t, reserve("first", now.Add(3*time.Hour), false).Allowed)
	expires(now.Add(3 * time.Hour))
	require.True(t, reserve("before", now.Add(time.Hour), false).Allowed)
	expires(now.Add(3 * time.Hour))
	require.True(t, reserve("near", now.Add(3*time.Hour-5*time.Minute), false).Allowed)
	expires(now.Add(3 * time.Hour))
	require.True(t, reserve("after", now.Add(3*time.Hour+5*time.Minute), false).Allowed)
	expires(now.Add(3*time.Hour + 5*time.Minute))
	require.True(t, reserve("shifted", now.Add(3*time.Hour+5*time.Minute), true).Shifted)
	expires(now.Add(3*time.Hour + 6*time.Minute))
	d, err := timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "before", At: now.Add(9 * time.Hour), Now: now})
	require.NoError(t, err)
	require.True(t, d.Allowed)
	expires(now.Add(9 * time.Hour))

	// If a shift found the first place, it sets the expiry of a new key too.
	require.NoError(t, client.Del(t.Context(), key).Err())
	require.NoError(t, client.ZAdd(t.Context(), key, redis.Z{Score: float64(now.UnixMilli()), Member: "bare"}).Err())
	require.True(t, reserve("shifted", now, true).Shifted)
	expires(now.Add(time.Minute))

	// A real expiry: a window of a second, and the grace.
	short := newTimeline(t, client, sendlimit.Options{Prefix: "short"}, "1/1s")
	d = mustReserve(t, short, sendlimit.Request{User: "alice", ID: "now"})
	keys, err := keyspace.NewKeys("short")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return client.Exists(t.Context(), keys.Timeline("alice")).Val() == 0
	}, 60*time.Second, 20*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(d.At), time.Second+policy.Grace-50*time.Millisecond, "not before it can be forgotten")
}

// In a pipeline, a script that the server does not know fails, and the commands after
// it are done before it is repeated: the second of two lines of a user got the place.
// So scripts are loaded first, and only one line of a user is in flight.
func TestAnUnknownScriptFailsInAPipeline(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	pipelined := func() []error {
		pipe := client.Pipeline()
		for _, script := range lua.All() {
			pipe.EvalSha(t.Context(), script.Hash(), []string{"k"}) // the wrong number of arguments for each
		}
		commands, err := pipe.Exec(t.Context())
		require.Error(t, err)
		var errs []error
		for _, command := range commands {
			errs = append(errs, command.Err())
		}
		return errs
	}
	for _, err := range pipelined() {
		require.ErrorContains(t, err, "NOSCRIPT")
	}
	for _, script := range lua.All() {
		require.NoError(t, script.Load(t.Context(), client).Err())
	}
	for _, err := range pipelined() {
		require.ErrorContains(t, err, "wrong number of keys or arguments")
	}

	// The server loses its scripts on the way (a restart, a failover). Each call
	// repeats itself, in order, because a user's next line waits for it.
	pipeline, err := client.AutoPipeline()
	require.NoError(t, err)
	defer pipeline.Close()
	timeline := newTimeline(t, pipeline, sendlimit.Options{})
	now := noon()
	for round := range 20 {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		var users sync.WaitGroup
		for u := range 8 {
			users.Go(func() {
				user := fmt.Sprintf("user-%d-%d", round, u)
				for line, allowed := range []bool{true, false, true} {
					at := now.Add(time.Duration(line) * 30 * time.Second)
					d, err := timeline.Reserve(t.Context(), sendlimit.Request{User: user, ID: fmt.Sprintf("line-%d", line), At: at, Now: now})
					if err != nil || d.Allowed != allowed {
						t.Errorf("%s, line %d: %v, %+v", user, line, err, d)
					}
				}
			})
		}
		users.Wait()
	}
}

// The server forgets its scripts while clients use them.
func TestScriptsSurviveAFlush(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	timeline := newTimeline(t, client, sendlimit.Options{}, "1/minute")
	now := noon()
	done := make(chan struct{})
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			for i := range 100 {
				at := now.Add(time.Duration(i) * time.Minute)
				r := sendlimit.Request{User: fmt.Sprintf("user-%d", c), ID: fmt.Sprintf("m%d", i), At: at, Now: now}
				d, err := timeline.Reserve(t.Context(), r)
				if err != nil || !d.Allowed || d.Replayed {
					t.Errorf("%+v: %v, %+v", r, err, d)
					return
				}
			}
		})
	}
	flushed := make(chan int)
	go func() {
		count := 0
		for {
			select {
			case <-done:
				flushed <- count
				return
			default:
				if err := client.ScriptFlush(t.Context()).Err(); err != nil {
					t.Error(err)
				}
				count++
			}
		}
	}()
	clients.Wait()
	close(done)
	require.Greater(t, <-flushed, 10)
	for c := range 8 {
		list, err := timeline.List(t.Context(), sendlimit.ListRequest{User: fmt.Sprintf("user-%d", c), Now: now})
		require.NoError(t, err)
		require.Len(t, list, 100)
	}
}

// A list continues after an id in the order of the sorted set, byte by byte, even if
// the server's locale has "a" before "B".
func TestListUnderAnyLocale(t *testing.T) {
	redistest.NeedServer(t)
	folder := t.TempDir()
	localedef := exec.CommandContext(t.Context(), "localedef", "-i", "en_US", "-f", "UTF-8", folder+"/en_US.UTF-8")
	if output, err := localedef.CombinedOutput(); err != nil {
		t.Skipf("no locale to test with: %v %s", err, output)
	}
	t.Setenv("LOCPATH", folder)
	t.Setenv("LC_ALL", "en_US.UTF-8")
	client := redistest.Real(t).Client()
	less, err := client.Eval(t.Context(), "return {'B' < 'a' and 1 or 0}", nil).Int64Slice()
	require.NoError(t, err)
	require.Equal(t, []int64{0}, less, "the server's locale is not the one asked for")

	timeline, now := newTimeline(t, client, sendlimit.Options{}, "100/minute"), noon()
	ids := []string{"-b", "A", "B", "B-1", "B1", "_a", "a", "aB", "ab", "b"}
	for _, id := range ids {
		require.True(t, mustReserve(t, timeline, sendlimit.Request{User: "alice", ID: id, At: now, Now: now}).Allowed)
	}
	var listed []string
	var after keyspace.Reservation
	for {
		page, err := timeline.List(t.Context(), sendlimit.ListRequest{User: "alice", After: after, Limit: 1, Now: now})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0]
		listed = append(listed, after.ID)
		require.LessOrEqual(t, len(listed), len(ids))
	}
	require.Equal(t, ids, listed)
}
