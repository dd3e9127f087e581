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
	return usage, c.count(ctx, a, usage)
}

// count reads the charges of an hour, and of the days after it in a list.
func (c *Charges) count(ctx context.Context, a accounts.Account, usage []counters.Usage) error {
	keys := make([]string, len(usage))
	for i, u := range usage {
		keys[i] = c.keys.Charged(a.Name, map[bool]string{true: "h", false: "d"}[i == 0], u.From)
	}
	used, err := c.used(ctx, keys)
	for i := range used {
		usage[i].Used = used[i]
	}
	return err
}

// BalanceDays is how many days a Balance has.
const BalanceDays = 7

// Balance has the charges of an account's current hour, and of its current and the following days. A
// Limit of 0 means no limit.
type Balance struct {
	Hour counters.Usage
	Days []counters.Usage // BalanceDays, the current one first
	Now  time.Time        // by the store's clock
}

// Balance returns the charges of an account, including holds. A message is charged in the hour and
// the day of its send time.
func (c *Charges) Balance(ctx context.Context, a accounts.Account, t accounts.Tier) (Balance, error) {
	now, err := c.now(ctx)
	if err != nil {
		return Balance{}, err
	}
	usage, err := c.periods(a, t, now)
	for err == nil && len(usage) <= BalanceDays {
		var next []counters.Usage
		if next, err = c.periods(a, t, usage[len(usage)-1].Until); err == nil {
			usage = append(usage, next[1])
		}
	}
	if err == nil {
		err = c.count(ctx, a, usage)
	}
	if err != nil {
		return Balance{}, err
	}
	return Balance{Hour: usage[0], Days: usage[1:], Now: now}, nil
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
