package messagefile_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

type options struct {
	fill messagefile.Fill
	zone string
	from int
	sent bool
}

func linesOf(t *testing.T, text string, o options) []bulk.Line {
	t.Helper()
	records, err := input.NewReader(strings.NewReader(text), input.Options{FilledIn: o.fill.Columns(), Flags: true})
	require.NoError(t, err)
	source := messagefile.NewSource(records, o.fill, o.zone, o.from, o.sent)
	var lines []bulk.Line
	for {
		line, err := source.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, source.Close())
			return lines
		}
		require.NoError(t, err)
		lines = append(lines, line)
	}
}

func idsOf(lines []bulk.Line) []string {
	var ids []string
	for _, line := range lines {
		ids = append(ids, line.Message.ID)
	}
	return ids
}

const header = "user,send_at,title,id,category,body,data.k,data.l,expires_at,on_conflict,shift_until\n"

// Files are run again after years: these ids stay what they are.
func TestDerivedIDsArePinned(t *testing.T) {
	t.Parallel()
	lines := linesOf(t, header+
		"alice,2026-11-22T11:11:11Z,hi,,,,,,,,\n"+
		"alice,2026-11-22T12:11:11.000+01:00,hi,,,,,,,,\n"+
		"alice,now,hi,,,,,,,,\n"+
		"älice,2026-11-22T11:11:11.001Z,hi,,news,there,v,w,2026-11-23T00:00:00Z,shift,2026-11-22T23:00:00Z\n"+
		"alice,2026-11-22T11:11:11Z,hi,mine,,,,,,,\n"+
		"alice,2026-11-22T11:11:11Z,hi,,,,,,,,\n", options{})
	require.Equal(t, []string{
		"auto-30bd0197cef520e4fd362b4d5c602c74", "auto-30bd0197cef520e4fd362b4d5c602c74-2",
		"auto-5d0fb7fb355a80a63db0cc18652727f7", "auto-bb654c9ce3fe5a41e9caa066bddd38d0",
		"mine", "auto-30bd0197cef520e4fd362b4d5c602c74-3",
	}, idsOf(lines))
	for _, line := range lines {
		require.Nil(t, line.Invalid)
		require.True(t, keyspace.ValidID(line.Message.ID))
	}
}

func TestEveryFieldMattersToADerivedID(t *testing.T) {
	t.Parallel()
	lines := linesOf(t, header+strings.Join([]string{
		"a,2026-11-22T11:11:11Z,t,,,,,,,,",
		"b,2026-11-22T11:11:11Z,t,,,,,,,,",
		"a,2026-11-22T11:11:12Z,t,,,,,,,,",
		"a,now,t,,,,,,,,",
		"a,2026-11-22T11:11:11Z,u,,,,,,,,",
		"a,2026-11-22T11:11:11Z,,,,t,,,,,",
		"a,2026-11-22T11:11:11Z,,,t,t,,,,,",
		"a,2026-11-22T11:11:11Z,t,,c,,,,,,",
		"a,2026-11-22T11:11:11Z,t,,,b,,,,,",
		"a,2026-11-22T11:11:11Z,t,,,,v,,,,",
		"a,2026-11-22T11:11:11Z,t,,,,,v,,,",
		"a,2026-11-22T11:11:11Z,t,,,,kv,,,,",
		"a,2026-11-22T11:11:11Z,t,,,,,,2026-11-23T00:00:00Z,,",
		"a,2026-11-22T11:11:11Z,t,,,,,,,shift,",
		"a,2026-11-22T11:11:11Z,t,,,,,,,shift,2026-11-23T00:00:00Z",
	}, "\n"), options{})
	ids := idsOf(lines)
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 15)
}

// What is not in the file's words but the same: format, order of data, zone.
func TestTheSameMessageHasTheSameDerivedID(t *testing.T) {
	t.Parallel()
	want := idsOf(linesOf(t, `{"user":"a","send_at":"2026-11-22T11:11:11Z","title":"t","data":{"k":"v","l":"w"}}`, options{}))
	require.Equal(t, want, idsOf(linesOf(t, `{"data":{"l":"w","k":"v"},"title":"t","send_at":"2026-11-22T11:11:11.0004Z","user":"a"}`, options{})))
	require.Equal(t, want, idsOf(linesOf(t, "data.l,data.k,user,send_at,title\nw,v,a,2026-11-22 12:11:11,t", options{zone: "Europe/Berlin"})))
	require.Equal(t, want, idsOf(linesOf(t, "data.l,data.k,user,send_at\nw,v,a,2026-11-22T11:11:11Z", options{fill: messagefile.Fill{Title: "t"}})))
}

func TestLinesInsertedElsewhereChangeNoID(t *testing.T) {
	t.Parallel()
	line := func(user string) string {
		return `{"user":"` + user + `","send_at":"2026-11-22T11:11:11Z","title":"t"}` + "\n"
	}
	before := idsOf(linesOf(t, line("a")+line("b")+line("a"), options{}))
	after := idsOf(linesOf(t, line("c")+line("a")+"{broken\n"+line("c")+line("b")+line("d")+line("a")+line("e"), options{}))
	require.Equal(t, []string{after[1], after[4], after[6]}, before)
}

func TestGoingOnFromALineKeepsTheIDs(t *testing.T) {
	t.Parallel()
	line := `{"user":"a","send_at":"2026-11-22T11:11:11Z","title":"t"}` + "\n"
	whole := linesOf(t, strings.Repeat(line, 4), options{})
	rest := linesOf(t, strings.Repeat(line, 4), options{from: 3})
	require.Equal(t, whole[2:], rest)
	require.Empty(t, linesOf(t, line, options{from: 2}))
}

func TestAClosedSource(t *testing.T) {
	t.Parallel()
	records, err := input.NewReader(strings.NewReader(`{"user":"a","send_at":"now","title":"t"}`), input.Options{})
	require.NoError(t, err)
	source := messagefile.NewSource(records, messagefile.Fill{}, "", 1, false)
	require.NoError(t, source.Close())
	_, err = source.Next()
	require.EqualError(t, err, "the file was closed")
}

func TestFillIns(t *testing.T) {
	t.Parallel()
	lines := linesOf(t, "user,send_at,title,category\na,now,,\na,now,t,c", options{
		fill: messagefile.Fill{Title: "T", Body: "B", Category: "C"},
	})
	require.Equal(t, "T B C", lines[0].Message.Title+" "+lines[0].Message.Body+" "+lines[0].Message.Category)
	require.Equal(t, "t B c", lines[1].Message.Title+" "+lines[1].Message.Body+" "+lines[1].Message.Category)
}

// A line names all its faults, and no text that was filled in as missing.
func TestFaultsOfALine(t *testing.T) {
	t.Parallel()
	const text = `{"user":7,"send_at":"soon","colour":"red"}` + "\n" + `{"user":"","send_at":"now","title":"t","on_conflict":"x"}`
	of := func(o options) (fields []string) {
		for _, line := range linesOf(t, text, o) {
			for _, wrong := range line.Invalid {
				fields = append(fields, wrong.Field)
			}
		}
		return fields
	}
	require.Equal(t, []string{"colour", "user", "send_at", "title"}, of(options{}), "the second line is left to the submit")
	require.Equal(t, []string{"colour", "user", "send_at"}, of(options{fill: messagefile.Fill{Body: "b"}}))
	require.Equal(t, []string{"colour", "user", "send_at"}, of(options{sent: true}))
}

func TestTimesInFiles(t *testing.T) {
	t.Parallel()
	const form = `an RFC 3339 time such as 2040-06-22T11:11:11Z, now or with --tz a local time such as "2040-06-22 11:11"`
	for _, row := range []struct{ at, zone, want string }{
		{"2026-11-22T11:11:11.0009Z", "", "2026-11-22T11:11:11Z"},
		{"2026-11-22T11:11:11+01:00", "America/New_York", "2026-11-22T10:11:11Z"},
		{"tomorrow", "", form},
		{"+90m", "", form}, // it would be another time at every run
		{"+90m", "UTC", form},
		{"2026-11-22", "UTC", form},
		{"2026-11-22 11:11", "", "a time with its zone, such as 2040-06-22T11:11:11Z or 2040-06-22T11:11:11+01:00;" +
			" --tz Europe/Berlin gives the zone for all"},
		{"2026-02-30T11:11:11Z", "", "a date and time that exist"},
	} {
		line := linesOf(t, "user,send_at,title\na,"+row.at+",t", options{zone: row.zone})[0]
		if line.Invalid == nil {
			require.Equal(t, row.want, line.Message.SendAt.Format(time.RFC3339Nano), row.at)
			continue
		}
		require.Equal(t, fault.InvalidErrors{{Field: "send_at", Value: row.at, Want: row.want}}, line.Invalid)
		require.Equal(t, "a", line.Message.User)
	}
	local := linesOf(t, "user,send_at,title,time_zone,expires_at\na,2026-03-29 02:30,t,user,now\nb,2026-03-29 02:30,t,,2026-03-30T00:00Z\nc,2026-03-29T00:00Z,t,Mars,",
		options{zone: "Europe/Berlin"})
	require.EqualError(t, local[0].Invalid, `expires_at "now" is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z`)
	require.Equal(t, &message.LocalTimes{SendAt: message.LocalTime{Local: "2026-03-29T02:30:00", Zone: "Europe/Berlin"}}, local[1].Message.Local)
	require.EqualError(t, local[2].Invalid, `time_zone "Mars" is not allowed: use an IANA time zone such as Europe/Berlin, or user for the user's own`)
	now := linesOf(t, "user,send_at,title\na,now,t", options{zone: "UTC"})[0]
	require.True(t, now.Message.Now)
}
