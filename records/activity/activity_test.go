package activity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func newLog(t *testing.T, client redis.Cmdable) *activity.Log {
	t.Helper()
	l := activity.New(client, keyspace.KeysUnder(""), nil)
	return l
}

// aStore is a store and a time that its clock may show.
type aStore struct {
	client *redis.Client
	now    time.Time
}

func stores(t *testing.T) []aStore {
	t.Helper()
	server, embedded := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	return []aStore{{embedded, story.At("12:00")}, {redistest.Real(t).Client(), time.Now().UTC()}}
}

func TestWhatHappensInAMinuteAndAnHour(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	l := newLog(t, client)
	l.Accepted("", story.At("11:59:59.999"))
	l.Accepted("", story.At("12:00"))
	l.Accepted("", story.At("12:01"))
	l.Refused("", story.At("12:00"), "5/hour")
	l.Refused("", story.At("12:00"), "5/hour")
	require.NoError(t, l.Flush(t.Context()))
	l.Refused("", story.At("12:00:30"), "quota_exceeded")
	l.Delivered("", story.At("12:00"), 10*time.Millisecond, false)
	l.Delivered("", story.At("12:01"), 3*time.Second, true)
	l.Dropped("", story.At("12:00"), "expired")
	l.Failed("", story.At("12:00"), "rejected")
	l.Postponed(story.At("12:00"))
	l.Cancelled("", story.At("12:00"))
	for range 2 {
		require.NoError(t, l.Flush(t.Context()))
	}
	minutes, err := l.Minutes(t.Context(), story.At("11:58:30"), story.At("12:01:00.001"))
	require.NoError(t, err)
	require.Len(t, minutes, 4)
	require.Equal(t, activity.Span{Start: story.At("11:58")}, minutes[0])
	require.Equal(t, activity.Span{Start: story.At("11:59"), Counts: activity.Counts{Accepted: 1}}, minutes[1])
	noon := minutes[2]
	require.EqualValues(t, 1, noon.Lateness.Count())
	noon.Lateness = activity.Lateness{}
	require.Equal(t, activity.Span{Start: story.At("12:00"), Counts: activity.Counts{
		Accepted: 1, Delivered: 1, Postponed: 1, Cancelled: 1,
		Refused: map[string]int64{"5/hour": 2, "quota_exceeded": 1},
		Dropped: map[string]int64{"expired": 1}, Failed: map[string]int64{"rejected": 1},
	}}, noon)
	require.EqualValues(t, 1, minutes[3].Late)

	hours, err := l.Hours(t.Context(), story.At("11:59"), story.At("13:00"))
	require.NoError(t, err)
	require.Len(t, hours, 2)
	require.Equal(t, activity.Sum(minutes[:2]...), hours[0].Counts)
	require.Equal(t, activity.Sum(minutes[2:]...), hours[1].Counts)

	keys := keyspace.KeysUnder("sl")
	require.Equal(t, activity.MinuteKept, server.TTL(keys.ActivityMinute(story.At("12:00"))))
	require.Equal(t, activity.HourKept, server.TTL(keys.ActivityHour(story.At("12:00"))))
	require.Equal(t, activity.HourKept, server.TTL(keys.ActivityCalls()))
}

// Many processes count at once: the sums are what was done.
func TestSumsAreWhatWasDone(t *testing.T) {
	t.Parallel()
	for _, store := range stores(t) {
		began := store.now.Truncate(time.Hour)
		var mu sync.Mutex
		want := make(map[time.Time]int64)
		var processes sync.WaitGroup
		for p := range 4 {
			l, random := newLog(t, store.client), rand.New(rand.NewPCG(1, uint64(p)))
			processes.Go(func() {
				for n := range 500 {
					at := began.Add(time.Duration(random.IntN(60*60)) * time.Second)
					l.Delivered("", at, time.Duration(random.IntN(5000))*time.Millisecond, n%5 == 0)
					l.Refused("", at, strconv.Itoa(n%3))
					mu.Lock()
					want[at.Truncate(time.Minute)]++
					mu.Unlock()
					if n%100 == 99 {
						if err := l.Flush(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		processes.Wait()
		l := newLog(t, store.client)
		minutes, err := l.Minutes(t.Context(), began, began.Add(time.Hour))
		require.NoError(t, err)
		require.Len(t, minutes, 60)
		for _, minute := range minutes {
			require.Equal(t, want[minute.Start], minute.Delivered)
			require.Equal(t, minute.Delivered, minute.Lateness.Count())
		}
		hours, err := l.Hours(t.Context(), began, began.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, activity.Sum(minutes...), activity.Sum(hours...))
		require.EqualValues(t, 2000, hours[0].Delivered)
		require.EqualValues(t, 400, hours[0].Late)
		require.Equal(t, map[string]int64{"0": 668, "1": 668, "2": 664}, hours[0].Refused)
	}
}

func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	l := newLog(t, client)
	for n := range 200 {
		for range 2 {
			l.Refused("", story.At("12:00"), fmt.Sprint("rule", n))
			require.NoError(t, l.Flush(t.Context()))
		}
	}
	l.Dropped("", story.At("12:30"), "one too many")
	l.Failed("", story.At("13:00"), "in another hour")
	require.NoError(t, l.Flush(t.Context()))
	hours, err := l.Hours(t.Context(), story.At("12:00"), story.At("14:00"))
	require.NoError(t, err)
	require.Len(t, hours[0].Refused, activity.MaxLabels+1)
	require.EqualValues(t, 2, hours[0].Refused["rule0"])
	require.EqualValues(t, 2*(200-activity.MaxLabels), hours[0].Refused[activity.Other])
	require.Equal(t, map[string]int64{activity.Other: 1}, hours[0].Dropped)
	require.Equal(t, map[string]int64{"in another hour": 1}, hours[1].Failed)
}

func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	l, noon := newLog(t, client), story.At("12:00")
	_, err := l.Minutes(t.Context(), noon, noon.Add(activity.MinutesOver+time.Second))
	require.Equal(t, "at most 25 hours after from", story.Invalid(t, err, "to", "2026-11-23T13:00:01Z"))
	_, err = l.Hours(t.Context(), noon, noon.Add(activity.HoursOver+time.Second))
	require.Equal(t, "at most 32 days after from", story.Invalid(t, err, "to", "2026-12-24T12:00:01Z"))
	minutes, err := l.Minutes(t.Context(), noon, noon.Add(activity.MinutesOver))
	require.NoError(t, err)
	require.Len(t, minutes, 1500)
	none, err := l.Hours(t.Context(), noon, noon)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestNoLogCountsNothing(t *testing.T) {
	t.Parallel()
	var nobody *activity.Log
	nobody.Accepted("", story.At("12:00"))
	nobody.Refused("", story.At("12:00"), "5/hour")
	require.NoError(t, nobody.Flush(t.Context()))
	got, err := nobody.Minutes(t.Context(), story.At("12:00"), story.At("12:01"))
	require.NoError(t, err)
	require.Equal(t, []activity.Span{{Start: story.At("12:00")}}, got)
}

// What another program has written there is an error that names the field.
func TestWhatIsNoNumberIsAnError(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	key := keyspace.KeysUnder("sl").ActivityMinute(story.At("12:00"))
	server.HSet(key, "a", "many", "future", "7", "h:99", "1")
	_, err := newLog(t, client).Minutes(t.Context(), story.At("12:00"), story.At("12:01"))
	require.ErrorContains(t, err, "reading what became of messages")
	require.ErrorContains(t, err, "a is no number")
	server.HDel(key, "a")
	got, err := newLog(t, client).Minutes(t.Context(), story.At("12:00"), story.At("12:01"))
	require.NoError(t, err)
	require.Equal(t, activity.Counts{}, got[0].Counts)
}

func TestQuantilesAreNearTheExactOnes(t *testing.T) {
	t.Parallel()
	_, ok := activity.Lateness{}.Quantile(0.5)
	require.False(t, ok)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var h activity.Lateness
		var exact []time.Duration
		scale := time.Duration(random.Int64N(int64(6 * time.Hour)))
		for range 1 + random.IntN(1000) {
			late := time.Duration(random.ExpFloat64() * float64(scale))
			h.Add(late)
			exact = append(exact, late)
		}
		slices.Sort(exact)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
			got, ok := h.Quantile(q)
			require.True(t, ok)
			want := exact[max(0, int(q*float64(len(exact)))-1)]
			if want >= 24*time.Hour {
				require.Greater(t, got, 17*time.Hour)
				continue
			}
			// The neighbours bound what the quantile of a sample may be.
			above := exact[min(len(exact)-1, int(q*float64(len(exact)))+1)]
			require.GreaterOrEqual(t, float64(got)*1.4143+float64(time.Millisecond), float64(want))
			require.LessOrEqual(t, float64(got), float64(above)*1.4143+float64(time.Millisecond))
		}
	}
	var one activity.Lateness
	one.Add(-time.Second)
	one.Add(400 * 24 * time.Hour)
	require.EqualValues(t, 2, one.Count())
	half, _ := one.Quantile(0.5)
	require.Equal(t, time.Millisecond, half)
	all, _ := one.Quantile(1)
	require.Greater(t, all, 24*time.Hour)
}

// Bounds of spans belong to the later one.
func TestBoundsOfLateness(t *testing.T) {
	t.Parallel()
	for exponent := range 27 {
		bound := time.Millisecond << exponent
		var h activity.Lateness
		h.Add(bound - 1)
		h.Add(bound)
		filled := slices.IndexFunc(h[:], func(n int64) bool { return n != 0 })
		require.EqualValues(t, 1, h[filled], bound)
		require.EqualValues(t, 1, h[filled+1], bound)
	}
}

func TestAnAccountsDays(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	kolkata, err := calendar.ParseTimeZone("Asia/Kolkata")
	require.NoError(t, err)
	l := activity.New(client, keyspace.KeysUnder(""), func(_ context.Context, account string) (*time.Location, error) {
		if account == "shop" {
			return kolkata, nil
		}
		return time.UTC, nil
	})
	l.Delivered("shop", story.At("18:29:59.999"), time.Second, false)
	l.Delivered("shop", story.At("18:30"), time.Minute, true)
	l.Dropped("shop", story.At("18:30"), "expired")
	l.Failed("shop", story.At("18:30"), "gone")
	l.Accepted("shop", story.At("18:31"))
	l.Refused("shop", story.At("18:31"), "5/hour")
	l.Refused("shop", story.At("18:31"), "quota_exceeded")
	l.Delivered("other", story.At("18:30"), 0, false)
	require.NoError(t, l.Flush(t.Context()))
	l.Delivered("shop", story.At("18:32"), 0, false)
	l.Cancelled("shop", story.At("23:59"))
	l.Retried("shop", story.At("22 18:29:59"))
	for range 2 {
		require.NoError(t, l.Flush(t.Context()))
	}
	shop, err := l.Days(t.Context(), "shop", story.At("22 18:30").In(kolkata), story.At("21 18:30"), story.At("20 18:30"))
	require.NoError(t, err)
	require.Equal(t, []activity.Span{
		{Start: story.At("22 18:30").In(kolkata), Counts: activity.Counts{
			Delivered: 2, Late: 1, Accepted: 1, Cancelled: 1, Refused: map[string]int64{"5/hour": 1, "quota_exceeded": 1},
			Dropped: map[string]int64{"expired": 1}, Failed: map[string]int64{"gone": 1},
		}},
		{Start: story.At("21 18:30"), Counts: activity.Counts{Delivered: 1, Retried: 1}},
		{Start: story.At("20 18:30")},
	}, shop)
	require.EqualValues(t, 1-2-1-1-1, shop[0].WaitingChange())
	require.Zero(t, shop[1].WaitingChange())
	require.Equal(t, activity.DayKept+6*time.Hour+30*time.Minute, server.TTL(keyspace.KeysUnder("sl").ActivityDay("shop", story.At("22 18:30"))))
	other, err := l.Days(t.Context(), "other", story.At("22 00:00"))
	require.NoError(t, err)
	require.Equal(t, activity.Counts{Delivered: 1}, other[0].Counts)
	hours, err := l.Hours(t.Context(), story.At("18:00"), story.At("19:00"))
	require.NoError(t, err)
	require.EqualValues(t, 4, hours[0].Delivered, "of all accounts")

	_, err = l.Days(t.Context(), "a:b", story.At("00:00"))
	require.Equal(t, keyspace.WantName, story.Invalid(t, err, "account", "a:b"))
	var nobody *activity.Log
	nobody.Delivered("shop", story.At("12:00"), 0, false)
	require.NoError(t, nobody.Flush(t.Context()))
}
