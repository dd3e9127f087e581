package sendlimit_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Each test here is named after a bug that another limiter or queue shipped,
// and would have caught it.

// Where the time is the member of the sorted set, two sends of the same
// millisecond are one.
func TestPitfall01SameMillisecond(t *testing.T) {
	t.Parallel()
	s := newStory(t, "2/minute")
	require.True(t, s.reserve("a", "11:11:11").Allowed)
	require.True(t, s.reserve("b", "11:11:11").Allowed)
	s.holds("a 11:11:11", "b 11:11:11")
	s.refused("11:11:11", "11:11:12")
	s.release("a")
	s.holds("b 11:11:11")
	s.accepted("11:11:12")
}

// Refused attempts were stored and counted, so that who kept asking was never
// let in again.
func TestPitfall02RefusalsLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]bool{"places": false, "records": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, sendlimit.Options{Policy: policyOf(t, "1/minute", "2/hour"), Records: records})
			ask := func(id, when string, shift bool) sendlimit.Decision {
				r := sendlimit.Request{ID: id, At: at(when), Shift: shift, ShiftUntil: at(when).Add(time.Minute)}
				if records {
					r.Record = &sendlimit.Record{Generation: keyspace.NewToken(), Fingerprint: id + when, Content: []byte("text")}
				}
				return s.ask(r)
			}
			require.True(t, ask("a", "11:00", false).Allowed)
			require.True(t, ask("b", "11:10", false).Allowed)
			before := s.server.Dump()
			for i := range 20 {
				require.Equal(t, fault.CodeSendLimit, ask(fmt.Sprintf("x%d", i), "11:20", i%2 == 0).Code)
				require.Equal(t, fault.CodeInPast, ask("past", "21 23:59:54.999", false).Code)
				require.Equal(t, fault.CodeTooFarAhead, ask("far", "2027-11-23T00:00:00.001Z", false).Code)
				require.Equal(t, fault.CodeIDReused, ask("a", "11:00:00.001", false).Code)
			}
			require.Equal(t, before, s.server.Dump())
			require.True(t, ask("c", "12:00", false).Allowed, "twenty refusals do not count")
		})
	}
}

// Old entries were trimmed against the new send time, so that one message far
// ahead wiped all before it; or stale entries went on counting.
func TestPitfall03TrimmedAgainstNow(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/hour")
	s.accepted("11:00", "2027-10-01T00:00:00Z")
	s.refused("11:30")
	s.until("11:59:59")
	s.refused("11:59:59.999")
	s.accepted("12:00")
	s.holds("11:00 11:00:00", "12:00 12:00:00", "2027-10-01T00:00:00Z 00:00:00")

	s.until("13:00:05.001") // past 12:00 by the hour and the grace
	s.holds("2027-10-01T00:00:00Z 00:00:00")
	for range 16 { // not every call trims
		s.wait(time.Millisecond)
		s.accepted("14:00")
		s.release("14:00")
	}
	members, err := s.client.ZCard(t.Context(), s.key()).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, members, "what is forgotten is away, though a message far ahead is not")
}

// A key expired before its last send, which then no longer counted; or never.
func TestPitfall04KeysExpireAfterTheirLastSend(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/minute", "5/hour")
	expires := func(last string) {
		t.Helper()
		ms, err := s.client.Do(t.Context(), "PEXPIRETIME", s.key()).Int64()
		require.NoError(t, err)
		require.Equal(t, at(last).Add(time.Hour+policy.Grace), time.UnixMilli(ms).UTC())
	}
	s.accepted("15:00:00.500")
	expires("15:00:00.500")
	s.accepted("12:00")
	expires("15:00:00.500")
	s.accepted("14:30") // with a neighbour after it
	expires("15:00:00.500")
	s.accepted("15:10") // with neighbours before it
	expires("15:10")
	require.True(t, s.shift("shifted", "15:10").Shifted)
	expires("15:11")
	require.True(t, s.move("12:00", "15:20").Allowed)
	expires("15:20")
	require.True(t, s.move("15:10", "11:00").Allowed)
	expires("15:20")
	require.True(t, s.release("12:00").Allowed)
	expires("15:20")

	s.until("16:20:04.999")
	require.True(t, s.server.Exists(s.key()))
	s.wait(time.Millisecond)
	require.False(t, s.server.Exists(s.key()))
}

// The limit was counted when the message was created, not when it was due.
func TestPitfall05CountedAtTheSendTime(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/minute")
	s.accepted("11:11:11", "23 11:11:11") // submitted at once, a day apart
	s.wait(3 * time.Hour)
	s.refused("11:11:11", "23 11:11:11") // submitted hours later, for the same times
}

// Off by one at the edges of a window.
func TestPitfall06EdgesToTheMillisecond(t *testing.T) {
	t.Parallel()
	for _, edge := range []struct {
		rule      string
		held      string
		free      []string
		forbidden []string
	}{
		{
			rule: "1/minute", held: "11:11:11",
			free:      []string{"11:12:11", "11:12:11.001", "11:10:11", "11:10:10.999"},
			forbidden: []string{"11:12:10.999", "11:10:11.001", "11:11:11"},
		},
		{
			rule: "1/minute", held: "23:59:30", // a key a day forgets the rule over midnight
			free:      []string{"23 00:00:30", "23:58:30"},
			forbidden: []string{"23 00:00:29.999", "23 00:00:00", "23:59:59.999"},
		},
		{
			rule: "1/calendar_day", held: "23 12:00",
			free:      []string{"22 23:59:59.999", "24 00:00"},
			forbidden: []string{"23 00:00", "23 23:59:59.999"},
		},
		{
			rule: "1/calendar_minute", held: "11:11:11",
			free:      []string{"11:10:59.999", "11:12:00"}, // less than a minute away, but in another
			forbidden: []string{"11:11:00", "11:11:59.999"},
		},
		{
			rule: "1/calendar_week", held: "25 12:00", // a Wednesday
			free:      []string{"22 23:59:59.999", "30 00:00"},
			forbidden: []string{"23 00:00", "29 23:59:59.999"},
		},
		{
			rule: "1/calendar_month", held: "2026-12-12T12:00:00Z",
			free:      []string{"30 23:59:59.999", "2027-01-01T00:00:00Z"},
			forbidden: []string{"2026-12-01T00:00:00Z", "2026-12-31T23:59:59.999Z"},
		},
	} {
		t.Run(edge.rule+" "+edge.held, func(t *testing.T) {
			t.Parallel()
			// Alone, and beside a rule that looks further than it does.
			for _, rules := range [][]string{{edge.rule}, {edge.rule, "1000/366d"}, {"1000/366d", edge.rule}} {
				s := newStory(t, rules...)
				s.accepted(edge.held)
				s.refused(edge.forbidden...)
				for _, free := range edge.free {
					s.accepted(free)
					s.release(id(free))
				}
			}
		})
	}
}

// "> 5" let a sixth through; counting whatever is near on both sides refused
// places that were free; counting the past alone broke later messages.
func TestPitfall07NoSixthAndBothSides(t *testing.T) {
	t.Parallel()
	s := newStory(t, "5/hour")
	s.accepted("11:00", "11:10", "11:20", "11:30", "11:59:59.999")
	s.refused("11:40", "11:00", "11:59:59.999")
	s.accepted("12:10")

	s = newStory(t, "2/hour")
	s.accepted("10:10", "11:50")
	s.accepted("11:00") // two neighbours within an hour, but not of one window

	s = newStory(t, "2/hour")
	s.accepted("11:10", "11:50")
	s.refused("10:55") // nothing before it, but a third in the hour after it
	s.accepted("10:50")
}

// One rule refused, the others stayed charged.
func TestPitfall08NoPartialCharge(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/minute", "2/hour", "3/calendar_day")
	s.accepted("11:00", "11:10")
	s.refusedBy("11:20", "10:10", "12:00", "2/hour")
	s.accepted("12:00")
	s.refusedBy("13:00", "", "23 00:00", "3/calendar_day")
	s.release("11:10")
	s.accepted("11:20:30") // within a minute of the refused one
}

// The hint when to retry came from the newest entry or the key's TTL. The
// property in general is TestHintsAreExact.
func TestPitfall10TheHintIsExact(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/minute", "3/hour")
	s.accepted("11:00", "11:20", "11:40", "15:00")
	s.refusedBy("11:50", "10:40", "12:00", "3/hour")
	s.refused("11:59:59.999")
	s.accepted("12:00")
	s.refusedBy("11:50", "10:40", "12:20", "3/hour")
	s.accepted("10:40")
}

// A changed limit was ignored, or wiped what was taken.
func TestPitfall11AChangedLimit(t *testing.T) {
	t.Parallel()
	s := newStory(t, "4/hour")
	s.accepted("11:00", "11:10", "11:20")
	s.under("1/hour")
	s.holds("11:00 11:00:00", "11:10 11:10:00", "11:20 11:20:00")
	s.refusedBy("11:30", "10:00", "12:20", "1/hour")
	s.accepted("12:20", "10:00") // windows that hold, beside one that is overfull
	s.under("5/hour")
	s.accepted("11:30", "11:31")
	s.refused("11:32")
	s.under("5/hour", "1/calendar_day")
	s.refused("11:45", "00:00")
	s.accepted("23 11:00")
}

// The clock of whoever asked decided. Two clients five seconds apart get the
// same answers.
func TestPitfall12TheServersClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		defer server.Close()
		server.SetTime(at("11:11:11"))
		client := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
			return server.Dial()
		}})
		defer client.Close()
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{})
		require.NoError(t, err)
		ask := func() [3]sendlimit.Decision {
			var answers [3]sendlimit.Decision
			for i, when := range []string{"11:11:05.999", "11:11:06", ""} {
				answers[i], err = timeline.Check(t.Context(), sendlimit.Request{User: "alice", ID: "a", At: at(when)})
				require.NoError(t, err)
			}
			return answers
		}
		now := time.Now()
		first := ask()
		time.Sleep(5 * time.Second) // the client's clock alone: the server's stands
		require.Equal(t, 5*time.Second, time.Since(now))
		require.Equal(t, first, ask())
		require.Equal(t, at("11:11:11"), first[2].At)
		require.Equal(t, fault.CodeInPast, first[0].Code)
		require.True(t, first[1].Allowed)
	})
}

// The first use of a key granted too much, and limits of one were rounded.
func TestPitfall13LimitsOfOne(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{time.Second, 7 * time.Second, time.Minute, time.Hour, 31 * 24 * time.Hour, 366 * 24 * time.Hour} {
		rule := policy.Rule{Limit: 1, Window: window}
		t.Run(rule.String(), func(t *testing.T) {
			t.Parallel()
			s := newStory(t, rule.String())
			ask := func(id string, after time.Duration) bool {
				return s.ask(sendlimit.Request{ID: id, At: s.now.Add(after)}).Allowed
			}
			require.True(t, ask("first", 0))
			require.False(t, ask("same", 0))
			require.False(t, ask("near", window-time.Millisecond))
			require.True(t, ask("next", window))
		})
	}
}

// A cost larger than the limit was let in. Here a call asks for one place at a
// time, and looks for several: they never share a window that has not room
// for them, and a rule that nothing could pass is not valid.
func TestPitfall14MoreThanTheLimit(t *testing.T) {
	t.Parallel()
	s := newStory(t, "1/minute", "2/calendar_day")
	s.until("23:59:30")
	times, err := s.timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{User: "alice", Count: 5})
	require.NoError(t, err)
	require.Equal(t, []time.Time{
		at("23:59:30"), at("23 00:00:30"), at("23 00:01:30"), at("24 00:00"), at("24 00:01"),
	}, times)
	_, err = policy.Parse("test", "", "0/minute")
	require.ErrorContains(t, err, `rule "0/minute" is not allowed: it takes a limit of 1 to 1000`)
}

// Large windows were slow, and so capped or approximated. This one is exact
// with 10,000 reservations; the benchmarks measure it.
func TestPitfall15AWindowOfAYear(t *testing.T) {
	t.Parallel()
	const held = 10_000
	s := newStory(t, "1/minute", "1000/366d")
	members := make([]redis.Z, held)
	for i := range members { // as a policy without the year's rule left them
		members[i] = redis.Z{Score: float64(at("12:00").Add(time.Duration(i) * time.Minute).UnixMilli()), Member: fmt.Sprintf("m%05d", i)}
	}
	require.NoError(t, s.client.ZAdd(t.Context(), s.key(), members...).Err())
	d := s.reserve("one", "11:00")
	require.Equal(t, []string{"1000/366d"}, broken(d))
	require.Equal(t, held, d.Violations[0].ConflictsTotal)
	require.Len(t, d.Violations[0].Conflicts, sendlimit.MaxConflicts)
	require.Zero(t, d.NextFree, "the year after the last lies beyond the reach")

	s.under("1/minute")
	s.refusedBy("23 11:11", "11:59", "29 10:40", "1/minute")
}
