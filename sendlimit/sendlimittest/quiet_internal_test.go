package sendlimittest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why         string
		zone        string
		lines       []string
		at          string
		from, until string // of the stretch; "" if it is not quiet
	}{
		{"within a day", "UTC", []string{"12:00-13:00"}, "2026-11-22T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-22T13:00:00Z"},
		{"a millisecond before", "UTC", []string{"12:00-13:00"}, "2026-11-22T11:59:59.999Z", "", ""},
		{"its end is not in it", "UTC", []string{"12:00-13:00"}, "2026-11-22T13:00:00Z", "", ""},
		{"the evening", "UTC", []string{"22:00-08:00"}, "2026-11-22T23:59:59.999Z", "2026-11-22T22:00:00Z", "2026-11-23T08:00:00Z"},
		{"the morning after", "UTC", []string{"22:00-08:00"}, "2026-11-23T07:59:59.999Z", "2026-11-22T22:00:00Z", "2026-11-23T08:00:00Z"},
		{"a night belongs to the day it begins on", "UTC", []string{"sun 22:00-08:00"}, "2026-11-23T05:00:00Z", "2026-11-22T22:00:00Z", "2026-11-23T08:00:00Z"},
		{"so the morning of that day is none", "UTC", []string{"sun 22:00-08:00"}, "2026-11-22T05:00:00Z", "", ""},
		{"Saturday is in fri-mon", "UTC", []string{"fri-mon 10:00-11:00"}, "2026-11-21T10:30:00Z", "2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z"},
		{"Tuesday is not", "UTC", []string{"fri-mon 10:00-11:00"}, "2026-11-24T10:30:00Z", "", ""},
		{
			"a whole weekend with the night before", "UTC",
			[]string{"sat,sun 00:00-24:00", "fri 22:00-08:00"},
			"2026-11-22T12:00:00Z", "2026-11-20T22:00:00Z", "2026-11-23T00:00:00Z",
		},
		{"where they are", "Asia/Kolkata", []string{"22:00-08:00"}, "2026-11-22T16:30:00Z", "2026-11-22T16:30:00Z", "2026-11-23T02:30:00Z"},
		{"an hour less of the night", "Europe/Berlin", []string{"22:00-08:00"}, "2026-03-29T00:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T06:00:00Z"},
		{"an hour more", "Europe/Berlin", []string{"22:00-08:00"}, "2026-10-25T00:00:00Z", "2026-10-24T20:00:00Z", "2026-10-25T07:00:00Z"},
		{"a quiet hour that clocks leave out", "Europe/Berlin", []string{"02:00-03:00"}, "2026-03-29T01:00:00Z", "", ""},
		{"half of one", "Europe/Berlin", []string{"02:30-03:30"}, "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{"one that they show twice", "Europe/Berlin", []string{"02:00-03:00"}, "2026-10-25T01:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"},
		{"half of it twice: the first", "Europe/Berlin", []string{"02:00-02:30"}, "2026-10-25T00:10:00Z", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"},
		{"and the second", "Europe/Berlin", []string{"02:00-02:30"}, "2026-10-25T01:10:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"},
		{"not between them", "Europe/Berlin", []string{"02:00-02:30"}, "2026-10-25T00:30:00Z", "", ""},
		{"until an hour that there is not", "Europe/Berlin", []string{"01:00-02:30"}, "2026-03-29T00:30:00Z", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		{"it is quiet again when it is 01:45 again", "Australia/Lord_Howe", []string{"01:30-02:00"}, "2026-04-04T15:15:00Z", "2026-04-04T14:30:00Z", "2026-04-04T15:30:00Z"},
		{"a Sunday that begins at 01:00", "America/Santiago", []string{"sun 00:00-02:00"}, "2026-09-06T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-06T05:00:00Z"},
		{"23:30 of Saturday again", "America/Santiago", []string{"sat 23:00-24:00"}, "2026-04-05T03:30:00Z", "2026-04-05T02:00:00Z", "2026-04-05T04:00:00Z"},
		{"it is still Saturday, not Sunday", "America/Santiago", []string{"sun 22:00-24:00"}, "2026-04-05T03:30:00Z", "", ""},
		{"no Friday, so its night is cut", "Pacific/Apia", []string{"fri 22:00-08:00"}, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T18:00:00Z"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			q, err := parseQuiet(zone(t, c.zone), c.lines, nil, nil)
			require.NoError(t, err)
			at := parse(t, c.at)
			require.Equal(t, c.from != "", q.covers(at))
			if c.from == "" {
				require.Empty(t, q.spans(span{at, at + 1}))
				return
			}
			want := span{parse(t, c.from), parse(t, c.until)}
			require.Equal(t, want, q.stretchAt(at))
			require.Equal(t, []span{want}, q.spans(span{want.from - 1, want.until + 1}))
			require.Equal(t, []span{{at, at + 1}}, q.spans(span{at, at + 1}), "cut")
		})
	}
}

// All times between two edges are quiet, or none is. Edges are the same in both
// directions.
func TestQuietEdges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, first := drawQuiet(t)
		at := first + rapid.Int64Range(0, 30*dayLength).Draw(t, "later")
		if q.lines == nil {
			return
		}
		next := q.nextEdge(at)
		require.Greater(t, next, at)
		require.LessOrEqual(t, next-at, 26*time.Hour.Milliseconds())
		require.Equal(t, next, q.previousEdge(next))
		previous := q.previousEdge(at)
		require.LessOrEqual(t, previous, at)
		require.Equal(t, previous, q.previousEdge(next-1))
		within := rapid.Int64Range(previous, next-1).Draw(t, "within")
		require.Equal(t, q.covers(at), q.covers(within))
		require.Equal(t, next, q.nextEdge(within))
	})
}

func TestQuietHoursThatAreNone(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"abc 22:00-08:00", "22-08", "mon-xyz 22:00-08:00"} {
		_, err := parseQuiet(time.UTC, []string{line}, nil, nil)
		require.Error(t, err, line)
	}
}
