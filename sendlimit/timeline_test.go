package sendlimit_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Each test would have found a bug that another limiter or queue had.

// Refused attempts were stored and counted. Callers that kept trying were never
// accepted again.
func TestRefusalsLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]bool{"places": false, "records": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute", "2/hour")), Records: records})
			ask := func(id, when string, shift bool) sendlimit.Decision {
				r := sendlimit.Request{ID: id, At: story.At(when), Shift: shift, ShiftUntil: story.At(when).Add(time.Minute)}
				if records {
					r.Record = &sendlimit.Record{Generation: keyspace.NewToken(), Fingerprint: id + when, Content: []byte("text")}
				}
				return s.Ask(r)
			}
			require.True(t, ask("a", "11:00", false).Allowed)
			require.True(t, ask("b", "11:10", false).Allowed)
			before := s.Server.Dump()
			for i := range 20 {
				require.Equal(t, fault.CodeSendLimit, ask(fmt.Sprintf("x%d", i), "11:20", i%2 == 0).Code)
				require.Equal(t, fault.CodeInPast, ask("past", "21 23:59:54.999", false).Code)
				require.Equal(t, fault.CodeTooFarAhead, ask("far", "2027-11-23T00:00:00.001Z", false).Code)
				require.Equal(t, fault.CodeIDReused, ask("a", "11:00:00.001", false).Code)
			}
			require.Equal(t, before, s.Server.Dump())
			require.True(t, ask("c", "12:00", false).Allowed, "twenty refusals do not count")
		})
	}
}

// Old entries were trimmed relative to the new send time: one message far ahead
// removed all before it. Or stale entries kept counting.
func TestTrimmingIsRelativeToNow(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/hour")
	s.Accepted("11:00", "2027-10-01T00:00:00Z")
	s.Refused("11:30")
	s.Until("11:59:59")
	s.Refused("11:59:59.999")
	s.Accepted("12:00")
	s.Holds("11:00 11:00:00", "12:00 12:00:00", "2027-10-01T00:00:00Z 00:00:00")

	s.Until("13:00:05.001") // past 12:00 by the hour and the grace
	s.Holds("2027-10-01T00:00:00Z 00:00:00")
	for range 16 { // not every call trims
		s.Wait(time.Millisecond)
		s.Accepted("14:00")
		s.Release("14:00")
	}
	members, err := s.Client.ZCard(t.Context(), s.Key()).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, members, "what is forgotten is away, though a message far ahead is not")
}

// A key expired before its last send, which then did not count. Or it never
// expired.
func TestKeysExpireAfterTheirLastSend(t *testing.T) {
	t.Parallel()
	s := story.New(t, "1/minute", "5/hour")
	expires := func(last string) {
		t.Helper()
		ms, err := s.Client.Do(t.Context(), "PEXPIRETIME", s.Key()).Int64()
		require.NoError(t, err)
		require.Equal(t, story.At(last).Add(time.Hour+policy.Grace), time.UnixMilli(ms).UTC())
	}
	s.Accepted("15:00:00.500")
	expires("15:00:00.500")
	s.Accepted("12:00")
	expires("15:00:00.500")
	s.Accepted("14:30") // with a neighbour after it
	expires("15:00:00.500")
	s.Accepted("15:10") // with neighbours before it
	expires("15:10")
	require.True(t, s.Shift("shifted", "15:10").Shifted)
	expires("15:11")
	require.True(t, s.Move("12:00", "15:20").Allowed)
	expires("15:20")
	require.True(t, s.Move("15:10", "11:00").Allowed)
	expires("15:20")
	require.True(t, s.Release("12:00").Allowed)
	expires("15:20")

	s.Until("16:20:04.999")
	require.True(t, s.Server.Exists(s.Key()))
	s.Wait(time.Millisecond)
	require.False(t, s.Server.Exists(s.Key()))
}

// Windows were off by one at their edges.
func TestWindowEdgesAreExactToTheMillisecond(t *testing.T) {
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
			// Alone, and next to a rule with a longer window.
			for _, rules := range [][]string{{edge.rule}, {edge.rule, "1000/366d"}, {"1000/366d", edge.rule}} {
				s := story.New(t, rules...)
				s.Accepted(edge.held)
				s.Refused(edge.forbidden...)
				for _, free := range edge.free {
					s.Accepted(free)
					s.Release(story.ID(free))
				}
			}
		})
	}
}

// The caller's clock decided. Two callers whose clocks differ by five seconds
// must get the same answers.
func TestTheServersClockDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := redistest.Virtual(t)
		server.SetTime(story.At("11:11:11"))
		timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{})
		require.NoError(t, err)
		ask := func() [3]sendlimit.Decision {
			var answers [3]sendlimit.Decision
			for i, when := range []string{"11:11:05.999", "11:11:06", ""} {
				answers[i], err = timeline.Check(t.Context(), sendlimit.Request{User: "alice", ID: "a", At: story.At(when)})
				require.NoError(t, err)
			}
			return answers
		}
		now := time.Now()
		first := ask()
		time.Sleep(5 * time.Second) // the client's clock alone: the server's stands
		require.Equal(t, 5*time.Second, time.Since(now))
		require.Equal(t, first, ask())
		require.Equal(t, story.At("11:11:11"), first[2].At)
		require.Equal(t, fault.CodeInPast, first[0].Code)
		require.True(t, first[1].Allowed)
	})
}

// Large windows were slow, and therefore limited or approximated. This one is
// exact with 10,000 reservations. Benchmarks measure its speed.
func TestAWindowOfAYearIsExact(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const held = 10_000
	s := story.New(t, "1/minute", "1000/366d")
	members := make([]redis.Z, held)
	for i := range members { // as a policy without the year's rule left them
		members[i] = redis.Z{Score: float64(story.At("12:00").Add(time.Duration(i) * time.Minute).UnixMilli()), Member: fmt.Sprintf("m%05d", i)}
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), members...).Err())
	d := s.Reserve("one", "11:00")
	require.Equal(t, []string{"1000/366d"}, story.Broken(d))
	require.Equal(t, held, d.Violations[0].ConflictsTotal)
	require.Len(t, d.Violations[0].Conflicts, sendlimit.MaxConflicts)
	require.Zero(t, d.NextFree, "the year after the last lies beyond the reach")

	s.Under("1/minute")
	s.RefusedBy("23 11:11", "11:59", "29 10:40", "1/minute")
}

// A table of a zone's offsets covers a few years. Requests after the turn of
// the year use another one.
func TestTheTurnOfTheYear(t *testing.T) {
	t.Parallel()
	s := story.New(t, "zone:Europe/Berlin", "1/calendar_day")
	s.Accepted("2026-12-31T22:59:59.999Z", "2026-12-31T23:00:00Z") // 31 December and 1 January
	s.Refused("2026-12-31T00:00:00Z", "2027-01-01T22:59:59.999Z")
	s.Until("2026-12-31T22:59:59.500Z")
	d := s.Reserve("now", "")
	require.Equal(t, fault.CodeSendLimit, d.Code)
	require.Equal(t, story.At("2027-01-01T23:00:00Z"), d.NextFree)
}

// Newfoundland put its clocks back a minute after midnight. The clock showed
// the former day again, but the new day had begun.
func TestAMidnightShownTwice(t *testing.T) {
	t.Parallel()
	s := story.New(t, "zone:America/St_Johns", "1/calendar_day")
	s.Now = story.At("2010-11-01T00:00:00Z")
	s.Server.SetTime(s.Now)
	s.Accepted("2010-11-07T02:30:00Z")
	for _, when := range []string{"2010-11-07T02:30:30Z", "2010-11-07T03:00:00Z", "2010-11-08T03:29:59.999Z"} {
		v := s.Reserve("x", when).Violations
		require.Len(t, v, 1, when)
		require.Equal(t, story.At("2010-11-07T02:30:00Z"), v[0].From)
		require.Equal(t, story.At("2010-11-08T03:30:00Z"), v[0].Until)
	}
	s.Accepted("2010-11-07T02:29:59.999Z", "2010-11-08T03:30:00Z")
}
