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

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
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
2093-11-22 12:30:00 UTC       dropped    d                 no time was free for it before it expired (at 2093-11-22 12:40:00 UTC)
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

func TestFind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "same", "--title", "Hi", "--campaign", "spring")
	f.prints(t, "push", "--user", "bob", "--at", on22("12:11:11"), "--id", "same", "--title", "Ho", "--category", "news")

	found := f.prints(t, "find", "same")
	require.Equal(t, 2, strings.Count(found, "scheduled: message same to "))
	require.Contains(t, found, "to alice is to be sent at 2093-11-22 11:11:11 UTC")
	require.Contains(t, found, "  title     Ho\n")
	require.Equal(t, 2, strings.Count(f.prints(t, "find", "same", "--json"), `"id":"same"`))

	const header = "send time                     status     user              id                    campaign      category\n"
	alice := "2093-11-22 11:11:11 UTC       scheduled  alice             same                  spring\n"
	bob := "2093-11-22 12:11:11 UTC       scheduled  bob               same                                news\n"
	for _, row := range []struct {
		flags string
		found string
	}{
		{"--campaign spring", header + alice},
		{"--category news", header + bob},
		{"--user-prefix b", header + bob},
		{"--status scheduled --until " + on22("12:00:00"), header + alice},
		{"--from " + on22("12:00:00"), header + bob},
		{"--status delivered", "no messages match\n"},
	} {
		require.Equal(t, row.found, f.prints(t, append([]string{"find"}, strings.Fields(row.flags)...)...), row.flags)
	}
	require.Empty(t, f.prints(t, "find", "--status", "delivered", "--json"))

	none := f.run(t, "find", "none")
	require.Equal(t, cli.StatusNotFound, none.status)
	require.Equal(t, "not found: no message \"none\": it was never accepted, or ended too long ago\n", none.stdout)
	for _, wrong := range [][]string{{"--status", "gone"}, {"--from", "+1h", "--until", "now"}, {"a b"}} {
		require.Equal(t, cli.StatusInvalid, f.run(t, append([]string{"find"}, wrong...)...).status, "%q", wrong)
	}
	for _, empty := range [][]string{{""}, {"--campaign", ""}, {"--from", ""}, {"--until", ""}} { // would be all messages
		got := f.run(t, append([]string{"find"}, empty...)...)
		require.Equal(t, cli.StatusInvalid, got.status, "%q", empty)
		require.Contains(t, got.stderr, "leave it out", "%q", empty)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, clock := range []string{"11:11:11", "11:12:30", "11:40:00"} {
		f.push(t, clock, clock)
	}
	got := f.prints(t, "usage", "--user", "alice", "--at", on22("11:12:30"), "--from", on22("09:59:00"), "--until", on22("13:30:00"))
	require.Equal(t, `alice around 2093-11-22 11:12:30 UTC

  1/minute         ####################  1/1   2093-11-22 11:12:30 to 11:13:30
  5/hour           ############........  3/5   2093-11-22 11:11:11 to 12:11:11
  10/calendar_day  ######..............  3/10  2093-11-22 00:00:00 to 2093-11-23 00:00:00

         :00       :10       :20       :30       :40       :50
  2093-11-22
  09:00                                                             -
  10:00  ------------------------------------------------------------
  11:00  ----------+oo+-------------------------+o------------------- < 11:12:30
  12:00  ------------------------------------------------------------
  13:00  ------------------------------

  o a send (2 to 9: so many, * more)   - free   + partly free   # taken   blank: past
`, got)
}

func TestUsageJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	require.JSONEq(t, `{"user":"alice","at":"2093-11-22T11:11:12.000Z","from":"2093-11-22T11:00:00.000Z","until":"2093-11-22T12:00:00.000Z",
		"rules":[
			{"rule":"1/minute","limit":1,"kind":"sliding","window_seconds":60,"used":1,
				"from":"2093-11-22T11:11:11.000Z","until":"2093-11-22T11:12:11.000Z"},
			{"rule":"5/hour","limit":5,"kind":"sliding","window_seconds":3600,"used":1,
				"from":"2093-11-22T11:11:11.000Z","until":"2093-11-22T12:11:11.000Z"},
			{"rule":"10/calendar_day","limit":10,"kind":"calendar","used":1,
				"from":"2093-11-22T00:00:00.000Z","until":"2093-11-23T00:00:00.000Z"}],
		"free":[{"from":"2093-11-22T11:00:00.000Z","until":"2093-11-22T11:10:11.001Z"},
			{"from":"2093-11-22T11:12:11.000Z","until":"2093-11-22T12:00:00.000Z"}],
		"sends":[{"id":"a","send_at":"2093-11-22T11:11:11.000Z"}]}`,
		f.prints(t, "usage", "--json", "--user", "alice", "--at", on22("11:11:12"), "--from", on22("11:00:00"), "--until", on22("12:00:00")))
	require.Contains(t, f.prints(t, "usage", "--json", "--user", "bob"), `"at":"2093-11-21T10:00:00.000Z",`+
		`"from":"2093-11-20T22:00:00.000Z","until":"2093-11-21T22:00:00.000Z"`)
	require.Contains(t, f.prints(t, "usage", "--json", "--user", "bob"), `"sends":[]`)
	wide := f.run(t, "usage", "--user", "alice", "--until", "+40d")
	require.Equal(t, 2, wide.status)
	require.Contains(t, wide.stderr, "until must be after from, by at most 32 days")
}

func TestNextFree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	require.Equal(t, "2093-11-22 11:12:11 UTC (in 1 day 1 hour)\n2093-11-22 11:13:11 UTC (in 1 day 1 hour)\n",
		f.prints(t, "next-free", "--user", "alice", "--from", on22("11:11:00"), "--count", "2"))
	require.JSONEq(t, `{"user":"alice","free_at":"2093-11-21T10:00:00.000Z"}`, f.prints(t, "next-free", "--user", "alice", "--json"))
	f.environ = append(f.environ, "SENDLIMIT_REACH=1m")
	require.Equal(t, "2093-11-21 11:00:00 CET\n2093-11-21 11:01:00 CET (in 1 minute)\nno more free times within the reach\n",
		f.prints(t, "next-free", "--user", "alice", "--count", "3", "--tz", "Europe/Berlin"))
	require.Equal(t, 2, f.run(t, "next-free", "--user", "alice", "--count", "101").status)
}
