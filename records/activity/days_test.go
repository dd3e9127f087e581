package activity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestAnAccountsDays(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	kolkata, err := calendar.ParseTimeZone("Asia/Kolkata")
	require.NoError(t, err)
	l, err := activity.New(client, "", func(_ context.Context, account string) (*time.Location, error) {
		if account == "shop" {
			return kolkata, nil
		}
		return time.UTC, nil
	})
	require.NoError(t, err)
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
