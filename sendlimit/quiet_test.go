package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// quietOptions returns options with quiet hours in Berlin, an hour ahead of UTC
// in winter.
func quietOptions(t *testing.T, lines []string, rules ...string) sendlimit.Options {
	t.Helper()
	p := story.PolicyOf(t, append([]string{"zone:Europe/Berlin"}, rules...)...)
	p.QuietHours = story.QuietHours(t, lines...)
	return sendlimit.Options{Rules: story.RulesBy(t, p), Records: true}
}

func TestQuietHoursOverMidnight(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	runOnEachStore(t, quietOptions(t, []string{"22:00-08:00"}, "2/hour"), func(u *user) {
		u.accepted("last", "20:59:59.999", "")
		u.accepted("first", "23 07:00", "")
		d := u.submit("a", "23:30", "")
		require.Equal(u, sendlimit.Decision{
			Code: fault.CodeQuietHours, At: story.Ahead("23:30"), Now: story.Ahead("00:00"),
			Quiet: &policy.QuietPeriod{
				From: story.Ahead("21:00"), Until: story.Ahead("23 07:00"), TimeZone: "Europe/Berlin", Location: berlin, Hours: "22:00-08:00",
			},
			NextFree: story.Ahead("23 07:00"), PreviousFree: story.Ahead("20:59:59.999"),
		}, d)
		require.Equal(u, fault.CodeQuietHours, u.submit("a", "21:00", "").Code)
		require.Equal(u, fault.CodeQuietHours, u.submit("a", "23 06:59:59.999", "").Code)
		require.Equal(u, fault.CodeQuietHours, u.submit("a", "", "").Code, "now, which is 01:00 in Berlin")
		require.Equal(u, fault.CodeQuietHours, u.move("last", "22:00", "g2").Code)
		require.Equal(u, []string{"last 20:59:59.999", "first 07:00:00"}, u.places(story.KeysOf(sendlimit.Options{}).Timeline("alice")))
	})
}

// Free times obey quiet hours and rules.
func TestQuietHoursAndRules(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, quietOptions(t, []string{"22:00-08:00"}, "1/hour"), func(u *user) {
		u.accepted("evening", "20:30", "")
		u.accepted("morning", "23 07:30", "")
		d := u.submit("a", "21:10", "")
		require.Equal(u, fault.CodeQuietHours, d.Code)
		require.Equal(u, []string{"1/hour"}, story.Broken(d), "a refusal for quiet hours says what else is in the way")
		require.Equal(u, story.Ahead("23 08:30"), d.NextFree, "the morning's hour is taken")
		require.Equal(u, story.Ahead("19:30"), d.PreviousFree)
		d = u.submit("a", "20:40", "")
		require.Equal(u, fault.CodeSendLimit, d.Code)
		require.Nil(u, d.Quiet)
		require.Equal(u, story.Ahead("23 08:30"), d.NextFree)

		shifting := u.request("a", "21:10", "")
		shifting.Shift, shifting.ShiftUntil = true, story.Ahead("23 08:29")
		require.Equal(u, fault.CodeQuietHours, u.ask(shifting).Code)
		shifting.ShiftUntil = story.Ahead("23 08:30")
		d = u.ask(shifting)
		require.True(u, d.Shifted)
		require.Equal(u, story.Ahead("23 08:30"), d.At)

		// It does not conflict with itself.
		d = u.move("evening", "21:00", "g2")
		require.Equal(u, fault.CodeQuietHours, d.Code)
		require.Empty(u, d.Violations)
		require.Equal(u, story.Ahead("20:59:59.999"), d.PreviousFree)

		times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{
			User: "alice", From: story.Ahead("23 19:00"), Count: 4, Now: story.Ahead("00:00"),
		})
		require.NoError(u, err)
		require.Equal(u, []time.Time{story.Ahead("23 19:00"), story.Ahead("23 20:00"), story.Ahead("24 07:00"), story.Ahead("24 08:00")}, times)

		usage, err := u.timeline.Usage(u.Context(), sendlimit.UsageRequest{
			User: "alice", At: story.Ahead("20:30"), From: story.Ahead("20:00"), To: story.Ahead("23 10:00"), Now: story.Ahead("00:00"),
		})
		require.NoError(u, err)
		require.Equal(u, []calendar.Stretch{{From: story.Ahead("21:00"), Until: story.Ahead("23 07:00")}}, usage.Quiet)
		require.Equal(u, []calendar.Stretch{{From: story.Ahead("23 09:30"), Until: story.Ahead("23 10:00")}}, usage.Free)
	})
}

// 2093-11-22 is a Sunday.
func TestQuietHoursOfWeekdays(t *testing.T) {
	t.Parallel()
	lines := []string{"sat,sun 00:00-24:00", "mon-fri 22:00-07:30", "sun 23:00-01:00"}
	runOnEachStore(t, quietOptions(t, lines, "1/minute"), func(u *user) {
		d := u.submit("a", "12:00", "")
		require.Equal(u, fault.CodeQuietHours, d.Code)
		require.Equal(u, "2093-11-20T21:00:00Z", d.Quiet.From.Format(time.RFC3339), "from Friday at 22:00")
		require.Equal(u, story.Ahead("23 00:00"), d.Quiet.Until, "until Monday at 01:00, when Sunday's line ends")
		require.Equal(u, "sat,sun 00:00-24:00", d.Quiet.Hours)
		require.Equal(u, story.Ahead("23 00:00"), d.NextFree)
		require.Zero(u, d.PreviousFree, "all before it is quiet, down to now")
		u.accepted("b", "23 00:00", "")
		require.Equal(u, fault.CodeQuietHours, u.submit("c", "23 21:00", "").Code)
		require.Equal(u, story.Ahead("24 06:30"), u.submit("c", "23 21:00", "").NextFree)
	})
}

// On days of clock changes, a search follows the local clock.
func TestQuietHoursThroughASearch(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why, lines, now, from string
		free                  []string
	}{
		{
			"02:00 to 03:00 is skipped", "02:30-03:30", "2094-03-28T00:00:00Z", "2094-03-28T00:59:30Z",
			[]string{"2094-03-28T00:59:30Z", "2094-03-28T01:30:00Z", "2094-03-28T01:31:00Z"},
		},
		{
			"02:00 to 03:00 comes twice", "02:01-03:00", "2094-10-31T00:00:00Z", "2094-10-31T00:00:00Z",
			[]string{"2094-10-31T00:00:00Z", "2094-10-31T01:00:00Z", "2094-10-31T02:00:00Z"},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			runOnEachStore(t, quietOptions(t, []string{row.lines}, "1/minute"), func(u *user) {
				times, err := u.timeline.NextFree(u.Context(), sendlimit.NextFreeRequest{
					User: "alice", From: story.Ahead(row.from), Count: len(row.free), Now: story.Ahead(row.now),
				})
				require.NoError(u, err)
				var free []string
				for _, when := range times {
					free = append(free, when.Format(time.RFC3339Nano))
				}
				require.Equal(u, row.free, free)
			})
		})
	}
}

// Calendar rules may use one zone and quiet hours another.
func TestQuietHoursAreTheUsers(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, quietOptions(t, []string{"22:00-08:00"}, "1/calendar_day"), func(u *user) {
		u.setSettings(policy.UserSettings{TimeZone: "Asia/Tokyo"}) // quiet from 13:00 to 23:00 UTC
		d := u.submit("a", "14:00", "")
		require.Equal(u, "Asia/Tokyo", d.Quiet.TimeZone)
		require.Equal(u, story.Ahead("23:00"), d.NextFree)
		u.accepted("a", "23:00", "")
		d = u.submit("b", "23:30", "")
		require.Equal(u, story.Ahead("23 23:00"), d.NextFree, "Berlin's Monday ends at 23:00 UTC")
		require.Equal(u, story.Ahead("12:59:59.999"), d.PreviousFree, "the last of Tokyo's day, on Berlin's Sunday")
	})
}

// A search that takes several calls continues where it stopped, over many
// nights.
func TestQuietHoursThroughALongSearch(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	p := story.PolicyOf(t, "1/minute")
	p.QuietHours = story.QuietHours(t, "00:00-23:00")
	s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	calls := &redistest.ScriptCalls{}
	s.Client.AddHook(calls)
	const days = 130 // more places than a call looks at
	places := make([]redis.Z, 0, days*60)
	for minute := range days * 60 {
		when := story.At("23:00").AddDate(0, 0, minute/60).Add(time.Duration(minute%60) * time.Minute)
		places = append(places, redis.Z{Member: strconv.Itoa(minute), Score: float64(when.UnixMilli())})
	}
	require.NoError(t, s.Client.ZAdd(t.Context(), s.Key(), places...).Err())
	made := calls.During(func() {
		d := s.Reserve("a", "23:00")
		require.Equal(t, fault.CodeSendLimit, d.Code)
		require.Equal(t, story.At("23:00").AddDate(0, 0, days), d.NextFree)
	})
	require.Greater(t, made, 1)
	made = calls.During(func() {
		d := s.Shift("a", "23:00")
		require.Equal(t, story.At("23:00").AddDate(0, 0, days), d.At)
	})
	require.Greater(t, made, 1)
}
