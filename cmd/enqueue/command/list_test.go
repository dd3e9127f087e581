package command

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "b", "12:00:00")
	f.push(t, "a", "11:11:11")
	f.prints(t, "move", "--user", "alice", "b", "--at", on22("12:30:00"))
	require.Equal(t, "send time                     status     id  category  title\n"+
		"2093-11-22 11:11:11 UTC       scheduled  a             Hi\n2093-11-22 12:30:00 UTC       moved      b             Hi\n",
		f.prints(t, "list", "--user", "alice"))
	require.Equal(t, "send time                     status     id  category  title\n2093-11-22 13:30:00 CET       moved      b             Hi\n",
		f.prints(t, "list", "--user", "alice", "--tz", "Europe/Berlin", "--from", "2093-11-22 12:30"))
	require.JSONEq(t, `{"id":"a","user":"alice","send_at":"2093-11-22T11:11:11.000Z","status":"scheduled"}`,
		f.prints(t, "list", "--user", "alice", "--json", "--until", on22("12:00:00")))
	require.Equal(t, "bob has no messages in this range\n", f.prints(t, "list", "--user", "bob", "--from", "now"))
	require.Empty(t, f.prints(t, "list", "--user", "bob", "--json"))
	backwards := f.run(t, "list", "--user", "alice", "--from", "+1h", "--until", "now")
	require.Equal(t, result{2, "", "error: until must be after from\n"}, backwards)
}

// Workers are down, for longer than any rule looks back.
func TestListOfLateMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	f.server.SetTime(now().Add(72 * time.Hour))
	require.Equal(t, "send time                     status     id  category  title\n2093-11-22 11:11:11 UTC       scheduled  a             Hi\n",
		f.prints(t, "list", "--user", "alice"))
}

func TestListShowsCategoryAndTitle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, err := policy.Parse(policy.DefaultName, "", "1/minute")
	require.NoError(t, err)
	p.Categories = map[string]policy.CategoryRules{"news": {Rules: []policy.Rule{{Limit: 5, Window: time.Hour}}}}
	f.apply(t, p)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "order-17", "--title", "Red\x1b[31m", "--body", "Go", "--category", "news")
	require.Equal(t, "send time                     status     id        category  title\n"+
		"2093-11-22 11:11:11 UTC       scheduled  order-17  news      Red [31m\n", f.prints(t, "list", "--user", "alice"))
	require.Contains(t, f.prints(t, "status", "--user", "alice", "order-17"),
		"\n  category  news\n  title     Red [31m\n  body      Go\n")
}

// What ended without a place stands between the others, and each once.
func TestListOfWhatEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "b", "12:00:00")
	f.push(t, "back", "11:30:00")
	for id, clock := range map[string]string{"a": "11:00:00", "c": "12:10:00", "e": "13:00:00", "x": "13:30:00", "d": "12:30:00"} {
		f.push(t, id, clock)
		f.prints(t, "cancel", "--user", "alice", id)
	}
	f.prints(t, "cancel", "--user", "alice", "back")
	f.push(t, "back", "11:45:00") // its id was free again
	f.record(t, "c", "s", "x", "w", "expired", "e", unix("12:20:00"), "x", unix("12:15:00"))
	f.record(t, "d", "s", "x", "w", "no_free_time", "e", unix("12:40:00"))
	f.record(t, "e", "s", "f", "w", "unavailable", "n", 8)
	require.Equal(t, `send time                     status     id    category  title
2093-11-22 11:00:00 UTC       cancelled  a
2093-11-22 11:45:00 UTC       scheduled  back            Hi
2093-11-22 12:00:00 UTC       scheduled  b               Hi
2093-11-22 12:10:00 UTC       dropped    c                 it was due at 2093-11-22 12:10:00 UTC, expired at 2093-11-22 12:15:00 UTC, and a worker claimed it at 2093-11-22 12:20:00 UTC
2093-11-22 12:30:00 UTC       dropped    d                 it was late at 2093-11-22 12:40:00 UTC, and no time was free before it expired
2093-11-22 13:00:00 UTC       failed     e                 delivery failed (unavailable) 8 times
2093-11-22 13:30:00 UTC       cancelled  x
`, f.prints(t, "list", "--user", "alice"))
	require.JSONEq(t, `{"id":"e","user":"alice","send_at":"2093-11-22T13:00:00.000Z","status":"failed","ended_at":"2093-11-21T10:00:00.000Z","attempts":8,"reason":"unavailable"}
`, f.prints(t, "list", "--user", "alice", "--json", "--from", on22("12:50:00"), "--until", on22("13:30:00")))
	require.JSONEq(t, `{"id":"a","user":"alice","send_at":"2093-11-22T11:00:00.000Z","status":"cancelled","ended_at":"2093-11-21T10:00:00.000Z"}
`, f.prints(t, "list", "--user", "alice", "--json", "--until", on22("11:31:00")))
}

// Pages of both kinds are merged, whichever ends first.
func TestListOfManyThatEnded(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	f := newFixture(t)
	keys := keyspace.KeysUnder("sl")
	var want []string
	var places, ended []redis.Z
	for i := range 5300 {
		at := now().Add(time.Duration(i/7) * time.Second).UnixMilli()
		z := redis.Z{Member: fmt.Sprintf("m%04d", i), Score: float64(at)}
		want = append(want, fmt.Sprintf("m%04d", i))
		if i%3 == 0 || i > 1500 && i < 3500 {
			ended = append(ended, z)
			f.server.HSet(keys.Record("alice", fmt.Sprintf("m%04d", i)), "g", "g", "s", "c", "t", strconv.FormatInt(at, 10))
		} else {
			places = append(places, z)
		}
	}
	require.NoError(t, f.client.ZAdd(t.Context(), keys.Timeline("alice"), places...).Err())
	require.NoError(t, f.client.ZAdd(t.Context(), keys.Ended("alice"), ended...).Err())
	var got []string
	for line := range strings.Lines(f.prints(t, "list", "--user", "alice", "--json")) {
		var m message.Status
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		got = append(got, m.ID)
	}
	require.Equal(t, want, got)
	text := f.prints(t, "list", "--user", "alice")
	require.Equal(t, len(want)+1, strings.Count(text, "\n"))
	require.Equal(t, 1, strings.Count(text, "send time"), "one heading for all pages")
}
