package command

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// record changes fields of what the store knows of a message to alice.
func (f *fixture) record(t *testing.T, id string, fields ...any) {
	t.Helper()
	keys := keyspace.KeysUnder("sl")
	require.NoError(t, f.client.HSet(t.Context(), keys.Record("alice", id), fields...).Err())
}

// story prints the status of a message to alice, without its history.
func (f *fixture) story(t *testing.T, id string) string {
	t.Helper()
	text, _, _ := strings.Cut(f.prints(t, "status", "--user", "alice", id), "  history\n")
	return text
}

func unix(clock string) int64 {
	at, err := time.Parse(time.RFC3339, on22(clock))
	if err != nil {
		panic(err) // the test is wrong
	}
	return at.UnixMilli()
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "a", "--title", "Hi", "--expires-at", on22("20:00:00"))
	require.Equal(t, `scheduled: message a to alice is to be sent at 2093-11-22 11:11:11 UTC (in 1 day 1 hour)
  expires at 2093-11-22 20:00:00 UTC
  title     Hi
  history
    o 2093-11-21 10:00:00 UTC  accepted for 2093-11-22 11:11:11
`, f.prints(t, "status", "--user", "alice", "a"))
	require.Equal(t, `scheduled: message a to alice is to be sent at 2093-11-22 12:11:11 CET (in 1 day 1 hour)
  expires at 2093-11-22 21:00:00 CET
  title     Hi
  history
    o 2093-11-21 11:00:00 CET  accepted for 2093-11-22 12:11:11
`, f.prints(t, "status", "--user", "alice", "a", "--tz", "Europe/Berlin"))
	require.JSONEq(t, `{"id":"a","user":"alice","status":"scheduled","send_at":"2093-11-22T11:11:11.000Z",
		"expires_at":"2093-11-22T20:00:00.000Z","title":"Hi","history":[
			{"at":"2093-11-21T10:00:00.000Z","change":"accepted","send_at":"2093-11-22T11:11:11.000Z"}]}`,
		f.prints(t, "status", "--user", "alice", "a", "--json"))

	f.prints(t, "move", "--user", "alice", "a", "--at", on22("12:00:00"))
	require.Equal(t, `moved: message a to alice was moved from 2093-11-22 11:11:11 UTC to 2093-11-22 12:00:00 UTC (in 1 day 2 hours)
  requested for 2093-11-22 11:11:11 UTC
  expires at 2093-11-22 20:00:00 UTC
  title     Hi
  history
    o 2093-11-21 10:00:00 UTC  accepted for 2093-11-22 11:11:11
    o 2093-11-21 10:00:00 UTC  moved from 2093-11-22 11:11:11 to 2093-11-22 12:00:00
`, f.prints(t, "status", "--user", "alice", "a"))
	f.prints(t, "cancel", "--user", "alice", "a")
	require.Equal(t, `cancelled: message a to alice was cancelled at 2093-11-21 10:00:00 UTC
  moved before, from 2093-11-22 11:11:11 UTC
  requested for 2093-11-22 11:11:11 UTC
  history
    o 2093-11-21 10:00:00 UTC  accepted for 2093-11-22 11:11:11
    o 2093-11-21 10:00:00 UTC  moved from 2093-11-22 11:11:11 to 2093-11-22 12:00:00
    X 2093-11-21 10:00:00 UTC  cancelled
`, f.prints(t, "status", "--user", "alice", "a"))
}

// Data are shown by name, a line each, whatever is in them.
func TestStatusShowsData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "a", "--body", "Hi", "--data", "z=1", "--data", "a=two\n\x1b[31mlines",
		"--campaign", "spring", "--meta", "source=a=b", "--meta", "k=")
	got := f.prints(t, "status", "--user", "alice", "a")
	require.Contains(t, got, "  campaign  spring\n  body      Hi\n  data      a: two")
	require.Contains(t, got, "lines\n  data      z: 1\n  metadata  k: \n  metadata  source: a=b\n")
	require.NotContains(t, got, "\x1b")
}

// What workers leave in the record.
func TestStatusInWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	for _, row := range []struct {
		want   string
		fields []any
	}{
		{
			"sending: message a to alice is being sent now, try number 1\n",
			[]any{"s", "s", "n", 1},
		},
		{
			"delivered: message a to alice was sent at 2093-11-22 11:11:11 UTC, on time\n  the provider calls it p-1\n",
			[]any{"s", "d", "e", unix("11:11:11"), "i", "p-1"},
		},
		{
			"delivered: message a to alice was sent at 2093-11-22 11:11:12.250 UTC, 1 second 250 milliseconds after its time\n" +
				"  the provider calls it p-1\n",
			[]any{"e", unix("11:11:12") + 250},
		},
		{
			"failed: message a to alice was given up at 2093-11-22 11:11:12.250 UTC: delivery failed (unavailable) 8 times\n",
			[]any{"s", "f", "w", "unavailable", "n", 8, "i", ""},
		},
		{
			"uncertain: message a to alice was given up at 2093-11-22 11:11:12.250 UTC:" +
				" it may have been sent (timeout)\n",
			[]any{"s", "u", "w", "timeout"},
		},
		{
			"dropped: message a to alice was not sent: it was due at 2093-11-22 11:11:11 UTC, and had expired when a worker" +
				" claimed it at 2093-11-22 11:11:12.250 UTC\n",
			[]any{"s", "x", "w", "expired"},
		},
		{
			"dropped: message a to alice was not sent: it was due at 2093-11-22 11:11:11 UTC, expired at 2093-11-22 11:11:12 UTC," +
				" and a worker claimed it at 2093-11-22 11:11:12.250 UTC\n",
			[]any{"x", unix("11:11:12")},
		},
		{
			"dropped: message a to alice was not sent: no time was free for it before it expired (at 2093-11-22 11:11:12.250 UTC)\n",
			[]any{"w", "no_free_time"},
		},
		{
			"dropped: message a to alice was not sent: the user had no device for it (at 2093-11-22 11:11:12.250 UTC)\n",
			[]any{"w", "no_device"},
		},
		{
			"dropped: message a to alice was not sent: held up (at 2093-11-22 11:11:12.250 UTC)\n",
			[]any{"w", "held up"}, // by a newer program
		},
		{
			"uncertain: message a to alice was given up at 2093-11-22 11:11:12.250 UTC:" +
				" it was due before the time of --drop-due-before, and may have been sent\n",
			[]any{"s", "u", "w", "restored"},
		},
		{
			"uncertain: message a to alice was given up at 2093-11-22 11:11:12.250 UTC:" +
				" it may have been sent: its worker stopped during the delivery\n",
			[]any{"w", "uncertain"},
		},
	} {
		f.record(t, "a", row.fields...)
		require.Equal(t, row.want+"  title     Hi\n", f.story(t, "a"))
	}
}

// A history has a line for each change, and dates where they differ.
func TestStatusShowsTheHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	f.record(t, "a", "H", 7,
		"h0", fmt.Sprintf("p %d 120000 -5000 . late 2 -3 news", unix("11:11:16")),
		"h1", fmt.Sprintf("r %d 30000 . 1 unavailable", unix("11:13:16")),
		"h2", fmt.Sprintf("o %d . . 2 .", unix("11:15:00")),
		"h3", fmt.Sprintf("u %d . . 3 timeout", unix("11:15:02")),
		"h4", fmt.Sprintf("v %d 86400000 -119000 . .", unix("11:15:15")),
		"h5", fmt.Sprintf("w %d 3600000 . . .", unix("11:16:00")),
		"h6", fmt.Sprintf("g %d . . . .", unix("11:19:00")),
		"s", "d", "n", 1, "e", unix("11:20:00"))
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a"), `
  history
    o 2093-11-21 10:00:00 UTC  accepted for 2093-11-22 11:11:11
    o 2093-11-22 11:11:16 UTC  postponed from 11:11:11 to 11:13:16: news 2/calendar_day was in the way
    o 2093-11-22 11:13:16 UTC  retry (try 1) for 11:13:46: unavailable
    o 2093-11-22 11:15:00 UTC  taken over (try 2)
    X 2093-11-22 11:15:02 UTC  uncertain (try 3): timeout
    o 2093-11-22 11:15:15 UTC  revived from 11:13:16 to 2093-11-23 11:15:15
    o 2093-11-22 11:16:00 UTC  paused, until 12:16:00 at the latest
    o 2093-11-22 11:19:00 UTC  resumed
    o 2093-11-22 11:20:00 UTC  delivered (try 1)
`)
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a", "--json"),
		`{"at":"2093-11-22T11:11:16.000Z","change":"postponed","reason":"late: news 2/calendar_day was in the way",`+
			`"send_at":"2093-11-22T11:13:16.000Z","former_send_at":"2093-11-22T11:11:11.000Z"}`)
}

// What has kept a message from going out is told to the end.
func TestStatusOfTriesBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	for _, row := range []struct {
		want   string
		fields []any
	}{
		{
			"sending: message a to alice is being sent now, try number 3\n  delivery failed (timeout) 2 times\n" +
				"  an earlier delivery may have arrived\n",
			[]any{"s", "s", "n", 3, "w", "timeout", "q", 1, "a", unix("11:00:00")},
		},
		{
			"delivered: message a to alice was sent at 2093-11-22 11:11:11 UTC, on time\n  3 tries; delivery failed (timeout) 2 times\n" +
				"  an earlier delivery may have arrived\n",
			[]any{"s", "d", "e", unix("11:11:11")},
		},
		{
			"delivered: message a to alice was sent at 2093-11-22 11:11:11 UTC, 1 minute after its time\n" +
				"  3 tries; postponed: 1/minute was in the way\n" +
				"  an earlier delivery may have arrived\n  promised for 2093-11-22 11:10:11 UTC\n",
			[]any{"p", unix("11:10:11"), "w", "late 1 60000"},
		},
		{
			"delivered: message a to alice was sent at 2093-11-22 11:11:11 UTC, 1 minute after its time\n" +
				"  postponed: 1/minute was in the way\n" +
				"  an earlier delivery may have arrived\n  promised for 2093-11-22 11:10:11 UTC\n",
			[]any{"n", 1},
		},
	} {
		f.record(t, "a", row.fields...)
		require.Equal(t, row.want+"  title     Hi\n", f.story(t, "a"))
	}
	require.JSONEq(t, `{"id":"a","user":"alice","status":"delivered","send_at":"2093-11-22T11:11:11.000Z",
		"promised_at":"2093-11-22T11:10:11.000Z","delivered_at":"2093-11-22T11:11:11.000Z","lateness_ms":60000,
		"attempts":1,"reason":"late: 1/minute was in the way","uncertain":true,"title":"Hi","history":[
			{"at":"2093-11-21T10:00:00.000Z","change":"accepted","send_at":"2093-11-22T11:10:11.000Z"},
			{"at":"2093-11-22T11:11:11.000Z","change":"delivered","attempt":1}]}`,
		f.prints(t, "status", "--user", "alice", "a", "--json"))
	// A message that was given back, since the answer of its claim came late.
	f.push(t, "late", "11:30:00")
	f.record(t, "late", "w", "late", "n", 1, "a", unix("11:30:05"))
	require.Contains(t, f.prints(t, "status", "--user", "alice", "late"),
		"  it was late when its turn came, and is judged again at 2093-11-22 11:30:05 UTC (in 1 day 1 hour)\n")
}

func TestStatusOfWhatIsStillToCome(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "late", "11:11:11")
	f.record(t, "late", "p", unix("11:00:00"), "w", "late 1 60000")
	require.Equal(t, `postponed: message late to alice was postponed from 2093-11-22 11:00:00 UTC to 2093-11-22 11:11:11 UTC (in 1 day 1 hour)
  late: 1/minute was in the way
  title     Hi
`, f.story(t, "late"))
	require.JSONEq(t, `{"id":"late","user":"alice","status":"postponed","send_at":"2093-11-22T11:11:11.000Z",
		"promised_at":"2093-11-22T11:00:00.000Z","reason":"late: 1/minute was in the way","title":"Hi",
		"history":[{"at":"2093-11-21T10:00:00.000Z","change":"accepted","send_at":"2093-11-22T11:00:00.000Z"}]}`,
		f.prints(t, "status", "--user", "alice", "late", "--json"))

	f.push(t, "again", "11:20:00")
	f.record(t, "again", "w", "unavailable", "n", 1, "a", unix("11:21:00"))
	require.Equal(t, `scheduled: message again to alice is to be sent at 2093-11-22 11:20:00 UTC (in 1 day 1 hour)
  delivery failed (unavailable) once; the next try is at 2093-11-22 11:21:00 UTC (in 1 day 1 hour)
  title     Hi
`, f.story(t, "again"))

	// A postponed one that failed when its time came.
	f.record(t, "late", "w", "timeout", "n", 2, "a", unix("11:12:00"))
	require.Contains(t, f.prints(t, "status", "--user", "alice", "late"),
		"  delivery failed (timeout) 2 times; the next try is at 2093-11-22 11:12:00 UTC")
}

func TestStatusOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	detail := `no message "none" of user "alice": it was never accepted, or ended too long ago`
	require.Equal(t, result{4, "not found: " + detail + "\n", ""}, f.run(t, "status", "--user", "alice", "none"))
	got := f.run(t, "status", "--user", "alice", "none", "--json")
	require.Equal(t, 4, got.status)
	require.JSONEq(t, `{"outcome":"refused","code":"not_found","id":"none","user":"alice","detail":`+strconv.Quote(detail)+`}`, got.stdout)
	got = f.run(t, "status", "--user", "alice", "a/b")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, `error: id "a/b" is not allowed`)
	got = f.run(t, "status", "--user", "alice")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, "ID is missing; see sendlimit status --help")
}
