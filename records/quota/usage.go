package quota

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Usage returns the charges of an account's hour and day around a time, including holds. A Limit of
// 0 means no limit.
func (c *Charges) Usage(ctx context.Context, a accounts.Account, t accounts.Tier, at time.Time) ([]counters.Usage, error) {
	usage, err := c.periods(a, t, at)
	if err != nil {
		return nil, err
	}
	used, err := c.used(ctx, []string{c.keys.Charged(a.Name, "h", usage[0].From), c.keys.Charged(a.Name, "d", usage[1].From)})
	for i := range used {
		usage[i].Used = used[i]
	}
	return usage, err
}

// Balance has the charges of an account's current hour and day.
type Balance struct {
	Hour, Day counters.Usage // a Limit of 0 means no limit
	Now       time.Time      // by the store's clock
}

// Balance returns the charges of the current hour and day of an account, including holds. Later
// messages are charged in the hour and the day of their send times.
func (c *Charges) Balance(ctx context.Context, a accounts.Account, t accounts.Tier) (Balance, error) {
	now, err := c.now(ctx)
	if err != nil {
		return Balance{}, err
	}
	usage, err := c.Usage(ctx, a, t, now)
	if err != nil {
		return Balance{}, err
	}
	return Balance{Hour: usage[0], Day: usage[1], Now: now}, nil
}

// periods returns the hour and the day around a time, with nothing used.
func (c *Charges) periods(a accounts.Account, t accounts.Tier, at time.Time) ([]counters.Usage, error) {
	hour, day, err := a.Periods(at)
	if err != nil {
		return nil, err
	}
	return []counters.Usage{
		{Counter: counters.Counter{Name: calendar.Hour.String(), Period: calendar.Hour, Limit: t.MessagesPerHour}, From: hour.From, Until: hour.Until},
		{Counter: counters.Counter{Name: calendar.Day.String(), Period: calendar.Day, Limit: t.MessagesPerDay}, From: day.From, Until: day.Until},
	}, nil
}

// now returns the clock of a server of the store.
func (c *Charges) now(ctx context.Context) (time.Time, error) {
	now, err := c.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, store.Explain(err, "reading the store's clock")
	}
	return now.UTC().Truncate(time.Millisecond), nil
}
