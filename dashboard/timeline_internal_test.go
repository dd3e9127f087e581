package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// drawn is a page at noon that shows a span.
func drawn(span time.Duration) (p *userPage, from, until time.Time) {
	p = &userPage{page: page{Now: noon()}, At: noon(), Zone: time.UTC}
	return p, noon().Add(-span / 4), noon().Add(3 * span / 4)
}

func stretch(from, until time.Time, code fault.Code) sendlimit.ForbiddenStretch {
	rule, _ := policy.ParseRule("5/hour") // a rule
	return sendlimit.ForbiddenStretch{Stretch: calendar.Stretch{From: from, Until: until}, Code: code, Rule: rule}
}

// Whatever there is lies within the drawing.
func TestTheDrawingHasBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, span := lengthOf(rapid.SampledFrom([]string{"6h", "1d", "7d", "31d", "?"}).Draw(t, "span"))
		p, from, until := drawn(span)
		at := rapid.Custom(func(t *rapid.T) time.Time {
			return noon().Add(time.Duration(rapid.Int64Range(-int64(90*24*time.Hour), int64(90*24*time.Hour)).Draw(t, "off")))
		})
		p.Now = at.Draw(t, "now")
		var forbidden sendlimit.Forbidden
		for range rapid.IntRange(0, 5).Draw(t, "bands") {
			begin := at.Draw(t, "from")
			forbidden.Stretches = append(forbidden.Stretches, stretch(begin, begin.Add(time.Duration(rapid.Int64Range(1, int64(60*24*time.Hour)).Draw(t, "length"))), fault.CodeQuietHours))
		}
		for range rapid.IntRange(0, 30).Draw(t, "marks") {
			p.Messages = append(p.Messages, message.Status{ID: "m", Status: message.StatusScheduled, SendAt: message.Time{Time: at.Draw(t, "send time")}})
		}
		drawing := newTimeline(p, forbidden, from, until, true)
		within := func(x float64) { require.True(t, x >= 0 && x <= drawing.Width, "%v", x) }
		for _, b := range drawing.Bands {
			within(b.X)
			within(b.X + b.Width - 0.5)
			require.GreaterOrEqual(t, b.Width, 0.5)
			require.LessOrEqual(t, b.Y+b.Height, drawing.Bottom)
		}
		for _, m := range drawing.Marks {
			within(m.X)
			require.True(t, m.Y >= markTop && m.Y < drawing.Bottom, "%v", m.Y)
		}
		last := -1.0
		for _, tick := range drawing.Ticks {
			within(tick.X)
			require.Greater(t, tick.X, last, "ticks ascend")
			last = tick.X
		}
		require.Equal(t, drawing.NowX >= 0, !p.Now.Before(from) && !p.Now.After(until))
		require.Len(t, drawing.Marks, len(p.Messages))
		require.InDelta(t, drawing.Width/4, drawing.AtX, 0.1)
	})
}

func TestBands(t *testing.T) {
	t.Parallel()
	p, from, until := drawn(24 * time.Hour)
	forbidden := sendlimit.Forbidden{Stretches: []sendlimit.ForbiddenStretch{
		stretch(from.Add(-time.Hour), from.Add(6*time.Hour), fault.CodeQuietHours),
		stretch(noon(), noon().Add(time.Millisecond), fault.CodeSendLimit),
		stretch(until.Add(-6*time.Hour), until.Add(time.Hour), fault.CodeTooManyPlaces),
	}}
	forbidden.Stretches[0].Quiet = "22:00-08:00"
	bands := newTimeline(p, forbidden, from, until, true).Bands
	require.Len(t, bands, 3)
	require.Equal(t, []any{0.0, 250.0, "quiet", "quiet hours (22:00-08:00)"}, []any{bands[0].X, bands[0].Width, bands[0].Class, bands[0].Why})
	require.Equal(t, []any{250.0, 0.5, "taken", "the rule 5/hour"}, []any{bands[1].X, bands[1].Width, bands[1].Class, bands[1].Why})
	require.Equal(t, []any{750.0, 250.0, "taken", "the user has the most messages for that day"}, []any{bands[2].X, bands[2].Width, bands[2].Class, bands[2].Why})

	p.Rule = "5/hour"
	require.Len(t, newTimeline(p, forbidden, from, until, true).Bands, 2, "of one rule, with what is quiet")
	p.Rule = "6/hour"
	require.Len(t, newTimeline(p, forbidden, from, until, true).Bands, 1)

	forbidden.Blocked = true
	bands = newTimeline(p, forbidden, from, until, true).Bands
	require.Equal(t, []any{0.0, 1000.0, "the user is blocked"}, []any{bands[1].X, bands[1].Width, bands[1].Why})
}

func TestMarks(t *testing.T) {
	t.Parallel()
	p, from, until := drawn(24 * time.Hour)
	for i, status := range []string{"scheduled", "moved", "postponed", "sending", "delivered", "cancelled", "dropped", "failed", "uncertain", ""} {
		p.Messages = append(p.Messages, message.Status{ID: "m", Status: status, SendAt: message.Time{Time: noon().Add(time.Duration(i) * time.Second)}})
	}
	var looks []string
	movable := 0
	for _, m := range newTimeline(p, sendlimit.Forbidden{}, from, until, true).Marks {
		looks = append(looks, m.Class)
		if m.Movable {
			movable++
		}
	}
	require.Equal(t, []string{"scheduled", "scheduled", "late", "sent", "sent", "cancelled", "dropped", "dropped", "dropped", "unknown"}, looks)
	require.Equal(t, 3, movable)
	drawing := newTimeline(p, sendlimit.Forbidden{}, from, until, false)
	require.False(t, drawing.Marks[0].Movable, "by who may not")
	require.InDelta(t, float64(markTop+maxLanes*markStep), drawing.Bottom, 0, "in as many lanes as there are at most")
}

// Days begin at midnight of the zone, also where a clock is changed then.
func TestTicksOnDaysOfAClockChange(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		from   time.Time
		length time.Duration
		labels []string
	}{
		"Europe/Berlin":     {time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), 72 * time.Hour, []string{"Sun 25 Oct", "Mon 26 Oct", "Tue 27 Oct"}},
		"America/Sao_Paulo": {time.Date(2018, 11, 3, 12, 0, 0, 0, time.UTC), 72 * time.Hour, []string{"Sun 4 Nov", "Mon 5 Nov", "Tue 6 Nov"}}, // there is no midnight
		"Asia/Kathmandu":    {time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 6 * time.Hour, []string{"18:00", "19:00", "20:00", "21:00", "22:00", "23:00"}},
		"UTC":               {time.Date(2026, 11, 21, 20, 30, 0, 0, time.UTC), 24 * time.Hour, []string{"21:00", "Sun 22 Nov", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00"}},
	} {
		zone, err := calendar.ParseTimeZone(name)
		require.NoError(t, err)
		drawing := timeline{From: row.from, Until: row.from.Add(row.length), Width: drawnWidth}
		drawing.addTicks(zone)
		var labels []string
		for _, tick := range drawing.Ticks {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, row.labels, labels, name)
	}
	drawing := timeline{From: noon(), Until: noon().Add(31 * 24 * time.Hour), Width: drawnWidth}
	drawing.addTicks(time.UTC)
	require.Len(t, drawing.Ticks, 6, "every fifth day")

	// Ticks are in order where an hour comes twice, or not at all.
	for name, from := range map[string]time.Time{
		"Europe/Berlin": time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), "Europe/Paris": time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC),
		"America/Sao_Paulo": time.Date(2018, 11, 4, 1, 0, 0, 0, time.UTC),
	} {
		zone, err := calendar.ParseTimeZone(name)
		require.NoError(t, err)
		for _, length := range []time.Duration{6 * time.Hour, 24 * time.Hour} {
			drawing = timeline{From: from, Until: from.Add(length), Width: drawnWidth}
			drawing.addTicks(zone)
			require.NotEmpty(t, drawing.Ticks)
			for i := 1; i < len(drawing.Ticks); i++ {
				require.Greater(t, drawing.Ticks[i].X, drawing.Ticks[i-1].X, name)
				require.NotEqual(t, drawing.Ticks[i].Label, drawing.Ticks[i-1].Label, name)
			}
		}
	}
}

func TestHeatLevels(t *testing.T) {
	t.Parallel()
	require.Zero(t, heatLevel(0, 10))
	require.Zero(t, heatLevel(0, 0))
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 10_000_000).Draw(t, "most")
		n := rapid.IntRange(1, most).Draw(t, "n")
		require.True(t, heatLevel(n, most) >= 1 && heatLevel(n, most) <= heatLevels)
		require.GreaterOrEqual(t, heatLevel(most, most), heatLevel(n, most))
	})
	require.Equal(t, heatLevels, heatLevel(1000, 1000))
	require.Equal(t, 1, heatLevel(1, 1000))
}

func TestTheHeatMap(t *testing.T) {
	t.Parallel()
	p := &schedulePage{Weeks: 1}
	p.Forecast = forecast.Forecast{Heat: []forecast.HourCount{
		{Start: noon(), Count: 5}, {Start: noon().Add(time.Hour), Count: 10}, {Start: noon().Add(6 * 24 * time.Hour), Count: 1}, {Start: noon().Add(7 * 24 * time.Hour), Count: 100},
	}}
	p.fill(noon().Add(30 * time.Minute))
	require.Len(t, p.Days, 7)
	require.Equal(t, 15, p.Days[0].Total)
	require.True(t, p.Days[0].Hours[11].Past)
	require.False(t, p.Days[0].Hours[12].Past, "the present hour is not over")
	require.Equal(t, 1, p.Days[6].Total)
	require.Equal(t, 100, p.More, "later than what is shown")
	require.Equal(t, 10, p.Most)
	require.Equal(t, noon().Add(time.Hour), p.Fullest)
	require.Equal(t, []int{0, 4, 8, 0}, []int{p.Days[0].Hours[11].Level, p.Days[0].Hours[12].Level, p.Days[0].Hours[13].Level, p.Days[0].Hours[14].Level})
}

func TestSliders(t *testing.T) {
	t.Parallel()
	require.Equal(t, []planRule{
		{Rule: "1/minute", Window: "minute", Limit: 1, Upmost: 10}, {Rule: "10/calendar_day", Window: "calendar_day", Limit: 10, Upmost: 30},
	}, slidersOf([]string{"1/minute", "nonsense", "10/calendar_day", "", "5/"}))
	require.Nil(t, slidersOf(nil))
}
