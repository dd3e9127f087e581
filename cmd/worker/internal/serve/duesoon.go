package serve

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// dueSoon is how far sendlimit_due_messages looks ahead: far enough to start workers in time.
const (
	dueSoon     = 5 * time.Minute
	dueSoonName = "5m"

	dueHelp     = "Messages due soon, estimated from the last forecast; without overdue messages."
	overdueHelp = "Pending messages whose send time had passed, at the last forecast."
	ageHelp     = "Age of the last forecast."
)

// addForecast adds the figures of the last forecast. If that is old, and no process on the store
// makes one, it makes one. Otherwise this costs the store three commands.
func (c *storeCollector) addForecast(client redis.UniversalClient, prefix string) error {
	forecasts, err := forecast.New(client, sendlimit.Options{Prefix: prefix})
	if err != nil {
		return err
	}
	c.close = forecasts.Close
	age := c.describe("sendlimit_forecast_age_seconds", ageHelp)
	due := c.describe("sendlimit_due_messages", dueHelp, "within")
	overdue := c.describe("sendlimit_overdue_messages", overdueHelp)
	c.add("forecast", func(ctx context.Context) ([]prometheus.Metric, error) {
		latest, counted, err := forecasts.Look(ctx, time.Time{})
		if err != nil || !counted {
			return nil, err
		}
		now, err := client.Time(ctx).Result()
		if err != nil {
			return nil, store.Explain(err, "asking the store for the time")
		}
		soon, known := dueWithin(latest, now, dueSoon)
		if !known {
			return nil, nil
		}
		return []prometheus.Metric{
			gauge(due, soon, dueSoonName), gauge(overdue, float64(latest.Overdue)), gauge(age, now.Sub(latest.At).Seconds()),
		}, nil
	})
	return nil
}

// dueWithin returns how many messages of a forecast are due within a time from now on. The forecast
// may be minutes old, and counts by minute: messages within a minute count as evenly spread. It
// reports false if the forecast is too old.
func dueWithin(f forecast.Forecast, now time.Time, within time.Duration) (due float64, ok bool) {
	end := now.Add(within)
	first := f.At.Truncate(time.Minute)
	if now.Before(f.At) || end.After(first.Add(time.Duration(len(f.Minutes))*time.Minute)) {
		return 0, false
	}
	for i, count := range f.Minutes {
		begin := first.Add(time.Duration(i) * time.Minute)
		until := begin.Add(time.Minute)
		if i == 0 {
			begin = f.At // it counts the rest of its minute
		}
		if span := slices.MinFunc([]time.Time{end, until}, time.Time.Compare).Sub(slices.MaxFunc([]time.Time{now, begin}, time.Time.Compare)); span > 0 {
			due += float64(count) * span.Seconds() / until.Sub(begin).Seconds()
		}
	}
	return due, true
}
