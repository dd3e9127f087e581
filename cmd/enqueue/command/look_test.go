package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
