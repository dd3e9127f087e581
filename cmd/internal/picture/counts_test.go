package picture_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func accepted(at time.Time) message.Outcome {
	return message.Outcome{Outcome: message.Accepted, SendAt: message.Time{Time: at}}
}

// starts are the beginnings of the buckets as clocks in the zone show them, and
// where the last one ends.
func starts(b picture.Buckets, zone *time.Location) []string {
	var all []string
	for i, one := range b.All {
		all = append(all, one.From.In(zone).Format("2006-01-02 15:04"))
		if i == len(b.All)-1 {
			all = append(all, one.Until.In(zone).Format("2006-01-02 15:04"))
		}
	}
	return all
}

func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	noon := message.Time{Time: at(t, "2026-11-22T12:00:59.999Z")}
	var h picture.Histogram
	require.Empty(t, h.Buckets(time.UTC).All)
	for _, o := range []message.Outcome{
		{Outcome: message.Accepted, SendAt: noon},
		{Outcome: message.Accepted, SendAt: noon, Shifted: true},
		{Outcome: message.Accepted, SendAt: noon, Replayed: true}, // is there already
		{Outcome: message.Refused, SendAt: noon, Code: fault.CodeQuietHours},
		{Outcome: message.Refused, Code: fault.CodeIDReused}, // has no time
		{Outcome: message.Invalid, SendAt: noon},
	} {
		h.Add(o)
	}
	b := h.Buckets(time.UTC)
	require.Equal(t, time.Minute, b.Width)
	text, err := json.Marshal(b.All)
	require.NoError(t, err)
	require.JSONEq(t, `[{"from":"2026-11-22T12:00:00.000Z","until":"2026-11-22T12:01:00.000Z","accepted":2,"shifted":1,"refused":1}]`, string(text))
}

func TestWidthsFollowTheSpan(t *testing.T) {
	t.Parallel()
	first := at(t, "2026-11-22T11:11:11Z") // a Sunday
	for _, row := range []struct {
		span    time.Duration
		width   time.Duration
		buckets int
		from    string
	}{
		{time.Second, time.Minute, 1, "2026-11-22 11:11"},
		{31 * time.Minute, time.Minute, 32, "2026-11-22 11:11"},
		{32 * time.Minute, 2 * time.Minute, 17, "2026-11-22 11:10"},
		{24 * time.Hour, time.Hour, 25, "2026-11-22 11:00"},
		{7 * 24 * time.Hour, 6 * time.Hour, 29, "2026-11-22 06:00"},
		{30 * 24 * time.Hour, 24 * time.Hour, 31, "2026-11-22 00:00"},
		{60 * 24 * time.Hour, 48 * time.Hour, 31, "2026-11-22 00:00"},
		{90 * 24 * time.Hour, 7 * 24 * time.Hour, 14, "2026-11-16 00:00"},
		{366 * 24 * time.Hour, 28 * 24 * time.Hour, 14, "2026-11-16 00:00"},
		{3660 * 24 * time.Hour, 224 * 24 * time.Hour, 17, "2026-11-16 00:00"},
	} {
		var h picture.Histogram
		h.Add(accepted(first.Add(row.span)))
		h.Add(accepted(first))
		b := h.Buckets(time.UTC)
		require.Equal(t, row.width, b.Width, row.span)
		require.Len(t, b.All, row.buckets, row.span)
		require.Equal(t, row.from, starts(b, time.UTC)[0], row.span)
		require.Positive(t, b.All[0].Accepted)
		require.Positive(t, b.All[len(b.All)-1].Accepted)
	}
}

func TestBucketsBeginByTheClockOfTheZone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, zone, first, last string
		want                    []string
	}{
		{
			"the night of 25 hours has an hour twice", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z",
			[]string{"2026-10-25 02:30", "2026-10-25 02:32"},
		},
		{
			"six hours are seven", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-30T00:00:00Z",
			[]string{"2026-10-25 00:00", "2026-10-25 06:00", "2026-10-25 12:00"},
		},
		{
			"and five", "Europe/Berlin", "2026-03-29T02:00:00Z", "2026-04-04T00:00:00Z",
			[]string{"2026-03-29 00:00", "2026-03-29 06:00", "2026-03-29 12:00"},
		},
		{
			"a day begins at 01:00", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-30T00:00:00Z",
			[]string{"2026-09-05 00:00", "2026-09-06 01:00", "2026-09-07 00:00"},
		},
		{
			"clocks skip the hour that a bucket begins with", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"2026-03-29 00:00", "2026-03-29 03:00", "2026-03-29 04:00"},
		},
		{
			"an offset of a half hour", "Asia/Kolkata", "2026-03-28T23:00:00Z", "2026-03-29T20:00:00Z",
			[]string{"2026-03-29 04:00", "2026-03-29 05:00", "2026-03-29 06:00"},
		},
		{
			"a shift of a half hour", "Australia/Lord_Howe", "2026-04-04T10:00:00Z", "2026-04-06T20:00:00Z",
			[]string{"2026-04-04 20:00", "2026-04-04 22:00", "2026-04-05 00:00"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var h picture.Histogram
			h.Add(accepted(at(t, row.first)))
			h.Add(accepted(at(t, row.last)))
			got := starts(h.Buckets(zone(t, row.zone)), zone(t, row.zone))
			require.Equal(t, row.want, got[:len(row.want)])
		})
	}
}

// Whatever is counted and in whatever zone: the buckets are one after the other,
// and each has exactly what is in it. Outcomes are over so many minutes that
// not each can be told from its neighbours.
func TestNothingIsLostOrCountedElsewhere(t *testing.T) {
	t.Parallel()
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu", "Pacific/Apia",
	} {
		for _, span := range []time.Duration{time.Hour, 26 * time.Hour, 8 * 24 * time.Hour, 40 * 24 * time.Hour, 366 * 24 * time.Hour} {
			z := zone(t, name)
			begin := at(t, "2026-01-01T00:00:00Z").Add(time.Duration(random.Int64N(int64(300 * 24 * time.Hour))))
			var h picture.Histogram
			times := make([]time.Time, 20_000)
			for i := range times {
				times[i] = begin.Add(time.Duration(random.Int64N(int64(span))))
				h.Add(accepted(times[i]))
			}
			what := fmt.Sprintf("seed %d: %v from %v in %s", seed, span, begin, name)
			b := h.Buckets(z).All
			require.LessOrEqual(t, len(b), 32, what)
			for i, one := range b {
				require.True(t, one.From.Before(one.Until.Time), what)
				require.True(t, i == 0 || b[i-1].Until.Equal(one.From.Time), what)
				n := 0
				for _, at := range times {
					if !at.Before(one.From.Time) && at.Before(one.Until.Time) {
						n++
					}
				}
				require.Equal(t, n, one.Accepted, "%s: bucket from %v", what, one.From)
			}
		}
	}
}
