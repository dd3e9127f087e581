package command

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sent is a line of what another system has sent on the 21st, when it is 10
// o'clock now.
func sent(user, clock string) string {
	return fmt.Sprintf(`{"user":%q,"send_at":"2093-11-21T%sZ"}`, user, clock)
}

// Ten sends of this morning, and the eleventh message of the day is refused.
func TestBulkRecordsWhatWasSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var lines []string
	for n := range 10 {
		lines = append(lines, sent("alice", fmt.Sprintf("0%d:30:00", n)))
	}
	lines = append(lines, sent("bob", "09:59:50"), sent("bob", "09:59:50"), sent("bob", "09:59:51"))
	path := fileOf(t, lines...)
	outcomes, summary := f.bulk(t, path, "--record-sent")
	require.Regexp(t, `^{"outcome":"recorded","line":1,"id":"auto-[0-9a-f]{32}","user":"alice","send_at":"2093-11-21T00:30:00.000Z"}$`, outcomes[0])
	require.Regexp(t, `^{"outcome":"recorded","line":12,"id":"auto-[0-9a-f]{32}-2","user":"bob",`, outcomes[11], "nothing is judged")
	require.Equal(t, `{"lines":13,"accepted":0,"replayed":0,"shifted":0,"refused":0,"invalid":0,"errors":0,"recorded":13,`+
		`"refused_by_rule":{},"seconds":0}`, summary)

	before := f.everything()
	require.NotContains(t, before, "asynq")
	require.NotContains(t, before, "watch")
	got := f.run(t, "push", "--user", "alice", "--at", "2093-11-21T14:00:00Z", "--title", "Hi", "--json")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, `"rule":"10/calendar_day"`)
	require.Contains(t, got.stdout, `"next_free_at":"2093-11-22T00:00:00.000Z"`)
	require.Contains(t, f.run(t, "push", "--user", "bob", "--at", "now", "--on-conflict", "refuse", "--title", "Hi", "--json").stdout,
		`"next_free_at":"2093-11-21T10:00:51.000Z"`)

	require.Equal(t, `13 lines in 0.0 seconds

  recorded   0
  replayed  13  recorded before: nothing changed
  refused    0
  invalid    0
`, f.prints(t, "bulk", "--record-sent", path))
	refusals := regexp.MustCompile(`(?m)^- sl:\{(activity|audit)\}.*\n(   .*\n)*`) // where they are counted and logged
	require.Equal(t, before, refusals.ReplaceAllString(f.everything(), ""))
}

func TestBulkRecordSentReportsWhatIsNoSend(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.run(t, "bulk", "--record-sent", fileOf(
		t, sent("alice", "10:00:01"), sent("alice", "09:00:00"), `{"user":"alice","send_at":"now"}`,
		`{"id":"old","user":"alice","send_at":"2020-02-03T04:05:06Z","title":"Hi"}`,
		`{"id":"old","user":"alice","send_at":"2093-11-21T08:00:00Z"}`, `{"id":"old","user":"alice","send_at":"2093-11-21T07:00:00Z"}`,
	))
	require.Equal(t, 2, got.status)
	lines := strings.Split(got.stderr, "\n")
	require.Equal(t, "line 1: send_at, 2093-11-21T10:00:01Z, has not passed: only messages that were sent are recorded", lines[0])
	require.True(t, strings.HasPrefix(lines[1], "line 3: send_at, now, has not passed"), lines[1])
	require.Equal(t, `6 lines in 0.0 seconds

  recorded     3  1 of them older than any rule looks back
  replayed     0
  refused      1
    id_reused  1
  invalid      2  skipped
`, got.stdout)
}

// A CSV of past sends needs neither title nor body, and may have them.
func TestBulkRecordSentOfCSV(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	short := fileOf(t, "user,send_at", "alice,2093-11-21 10:00", "bob,2093-11-21T09:00:00Z")
	_, summary := f.bulk(t, short, "--record-sent", "--tz", "Europe/Berlin")
	require.Contains(t, summary, `"recorded":2,`)
	full := fileOf(t, "user,send_at,title,category", "carol,2093-11-21T09:00:00Z,Sale,news")
	_, summary = f.bulk(t, full, "--record-sent")
	require.Contains(t, summary, `"recorded":1,`)
	require.Contains(t, f.everything(), `k: "news"`)
	require.NotContains(t, f.everything(), "Sale")
}
