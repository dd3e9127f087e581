package integration_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/taskstest/heavy"
)

// book writes places directly into a user's timeline, one every step.
func book(t *testing.T, client *redis.Client, user string, from time.Time, step time.Duration, places int) {
	t.Helper()
	key := defaultKeys(t).Timeline(user)
	for first := range slices.Chunk(makeRange(places), 5000) {
		members := make([]redis.Z, len(first))
		for i, n := range first {
			members[i] = redis.Z{Score: float64(from.Add(time.Duration(n) * step).UnixMilli()), Member: fmt.Sprintf("m%06d", n)}
		}
		require.NoError(t, client.ZAdd(t.Context(), key, members...).Err())
	}
}

func makeRange(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// A user is booked solid for a year: a search is split into several calls, and still
// finds the exact free millisecond, on either side.
func TestASearchThroughAFullYear(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client()
	timeline := newTimeline(t, client, sendlimit.Options{}, "5/hour")
	now := noon()
	const step, places = 12 * time.Minute, 366 * 24 * 5
	book(t, client, "alice", now, step, places)
	free := func(n int) time.Time {
		t.Helper()
		at := now.Add(time.Duration(n) * step)
		require.NoError(t, client.ZRem(t.Context(), defaultKeys(t).Timeline("alice"), fmt.Sprintf("m%06d", n)).Err())
		return at
	}
	asked := now.Add(20_000*step + time.Second)
	r := sendlimit.Request{User: "alice", ID: "a", At: asked, Now: now}
	d := mustReserve(t, timeline, r)
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, now.Add(policy.DefaultReach-step).Add(time.Hour-4*step).Truncate(time.Millisecond), d.NextFree,
		"the last hour of the year is full, up to the reach itself")
	require.Zero(t, d.PreviousFree)

	early, late := free(10), free(43_000)
	d = mustReserve(t, timeline, r)
	require.Equal(t, late, d.NextFree)
	require.Equal(t, early, d.PreviousFree)
	times, err := timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{User: "alice", Count: 2, Now: now})
	require.NoError(t, err)
	require.Equal(t, []time.Time{early, late}, times)

	r.Shift, r.ShiftUntil = true, late.Add(-time.Millisecond)
	require.Equal(t, fault.CodeSendLimit, mustReserve(t, timeline, r).Code, "a millisecond too short")
	r.ShiftUntil = late
	require.Equal(t, sendlimit.Decision{Allowed: true, Shifted: true, At: late, RequestedAt: asked, Now: now}, mustReserve(t, timeline, r))

	moved, err := timeline.Move(t.Context(), sendlimit.MoveRequest{User: "alice", ID: "a", At: asked, Now: now})
	require.NoError(t, err)
	require.Equal(t, fault.CodeSendLimit, moved.Code)
	require.Equal(t, late, moved.NextFree, "its own place is free for it")
	require.Equal(t, early, moved.PreviousFree)
}

// Free times that several calls find count each other as taken.
func TestNextFreeGoesOnInFurtherCalls(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client()
	timeline := newTimeline(t, client, sendlimit.Options{}, "300/hour")
	now := noon()
	const wanted = 100
	book(t, client, "alice", now, time.Hour/299+time.Millisecond, 299*(wanted+5)) // each hour has room for one more
	at := func(from time.Time, count int) []time.Time {
		t.Helper()
		times, err := timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{User: "alice", From: from, Count: count, Now: now})
		require.NoError(t, err)
		return times
	}
	together := at(now, wanted)
	var singly []time.Time
	from := now
	for i := range wanted {
		next := at(from, 1)
		require.Len(t, next, 1)
		from = next[0]
		singly = append(singly, from)
		require.True(t, mustReserve(t, timeline, sendlimit.Request{
			User: "alice", ID: fmt.Sprintf("free-%d", i), At: from, Now: now,
		}).Allowed)
	}
	require.Equal(t, singly, together)
}

// A rule of a year is new, and there are more reservations than one call may look at.
// The search does not block the server for long, and it makes progress.
func TestASearchGetsOn(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client()
	timeline := newTimeline(t, client, sendlimit.Options{}, "1/minute", "1000/366d")
	now := noon().AddDate(1, 0, 0)
	book(t, client, "alice", now.AddDate(0, 0, -360), 12*time.Minute, 40_000)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := sendlimit.Request{User: "alice", ID: "a", At: now.Add(time.Hour), Now: now}
	d, err := timeline.Reserve(ctx, r)
	require.NoError(t, err)
	require.Equal(t, "1000/366d", d.Violations[0].Rule.String())
	// A year after the thousandth place from the end.
	require.Equal(t, now.AddDate(0, 0, -360).Add(39_000*12*time.Minute).Add(366*24*time.Hour), d.NextFree)
	times, err := timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: "alice", Count: 3, Now: now})
	require.NoError(t, err)
	require.Len(t, times, 3)
	require.Equal(t, d.NextFree, times[0])
}

// Large windows were slow. The benchmarks state the ratio of times; here the work of a call
// does not grow with the reservations.
func TestTenThousandReservations(t *testing.T) {
	t.Parallel()
	client := redistest.Shared(t).Client()
	counter, err := heavy.NewCounter(client)
	require.NoError(t, err)
	client.AddHook(counter)
	timeline := newTimeline(t, client, sendlimit.Options{}, "1/minute", "5/hour", "100/calendar_day")
	now := noon()
	most := func(held int) heavy.Work {
		t.Helper()
		user := fmt.Sprintf("held-%d", held)
		step := 300 * 24 * time.Hour / time.Duration(held)
		book(t, client, user, now, step, held)
		work, err := counter.MaxOf(func() error {
			const calls = 30
			for i := range calls {
				// Halfway between two places, over all of them.
				between, again := i*held/calls, i%max(calls/held, 1)
				at := now.Add(time.Duration(between)*step + step/2 + time.Duration(again)*20*time.Minute)
				require.True(t, mustReserve(t, timeline, sendlimit.Request{User: user, ID: fmt.Sprintf("x%d", i), At: at, Now: now}).Allowed)
			}
			return nil
		})
		require.NoError(t, err)
		return work
	}
	few, many := most(10), most(10_000)
	t.Logf("%+v of 10 held, %+v of 10,000", few, many)
	bound := heavy.Work{Commands: 2 * few.Commands, Elements: 2*few.Elements + 100, Passed: 2*few.Passed + 100, Loops: 2*few.Loops + 100}
	require.False(t, many.Exceeds(bound), "%+v is more than %+v", many, bound)
}

// manyPlaces is more than a call may read or pass over beside what it does for a few.
const manyPlaces = 25_000

// maxWork is the most that a call may do: with it, the slowest takes less than 5 ms.
func maxWork() heavy.Work {
	return heavy.Work{Commands: 1800, Elements: 22_000, Passed: 40_000, Loops: 24_000}
}

// Whatever is stored and whatever the rules, no call blocks the server: a search goes on in
// further calls. The work is counted, since machines differ. The row "heavy" of bench has
// the times. A run plays half of the pairs of rules and of what is stored.
func TestNoCallReadsAllPlaces(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Shared(t)
	store, client := server.Client(), server.Client()
	counter, err := heavy.NewCounter(server.Client())
	require.NoError(t, err)
	client.AddHook(counter)
	day := noon().Add(12 * time.Hour)
	cases, err := heavy.Cases()
	require.NoError(t, err)
	half := drawn(t, 2)
	for i, crowd := range heavy.Crowds(day, manyPlaces) {
		require.NoError(t, crowd.Fill(t.Context(), store))
		for j, c := range cases {
			if (i+j)%2 != half {
				continue
			}
			operations, err := c.Operations(client, store, crowd.User, day)
			require.NoError(t, err)
			for _, o := range operations {
				if o.Prepare != nil {
					require.NoError(t, o.Prepare(t.Context(), 0))
				}
				work, err := counter.MaxOf(func() error { return o.Do(t.Context(), 0) })
				require.NoError(t, err, "%s %s %s", crowd.User, c.Name, o.Name)
				t.Logf("%-8s %-10s %-16s %+v", crowd.User, c.Name, o.Name, work)
				if work.Exceeds(maxWork()) {
					t.Errorf("%s %s %s does %+v in a call, more than %+v", crowd.User, c.Name, o.Name, work, maxWork())
				}
			}
		}
	}
}

// What only a real Redis shows: how it treats unknown scripts, and how it orders texts.

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
