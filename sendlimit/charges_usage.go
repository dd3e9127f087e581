package sendlimit

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// Check says what Hold would answer, and charges nothing.
func (c *Charges) Check(ctx context.Context, r ChargeRequest) (Decision, error) {
	usage, err := c.Usage(ctx, r.Account, r.Tier, r.At)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{At: r.At, Now: r.Now, Allowed: true}
	if d.Now.IsZero() {
		if d.Now, err = c.now(ctx); err != nil {
			return Decision{}, err
		}
	}
	slices.Reverse(usage) // of both that refuse, the day
	for _, u := range usage {
		if u.Counter.Limit > 0 && u.Remaining() == 0 && d.Allowed {
			d.Allowed = false
			d.quotaExceeded(u)
		}
	}
	return d, nil
}

// Usage says how much of an account's hour and day around a time is charged,
// what is held included. A Limit of 0 is none.
func (c *Charges) Usage(ctx context.Context, a Account, t Tier, at time.Time) ([]CounterUsage, error) {
	const doing = "reading what an account is charged"
	usage, err := c.periods(a, t, at)
	if err != nil {
		return nil, err
	}
	counts, err := c.client.MGet(ctx,
		c.keys.Charged(a.Name, "h", usage[0].From), c.keys.Charged(a.Name, "d", usage[1].From)).Result()
	if err != nil {
		return nil, Unavailable(err, doing)
	}
	for i, count := range counts {
		text, ok := count.(string)
		if !ok {
			continue // nothing is charged
		}
		if usage[i].Used, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, replyError(doing, "a counter is no integer")
		}
	}
	return usage, nil
}

// periods are the hour and the day around a time, with nothing used of them.
func (c *Charges) periods(a Account, t Tier, at time.Time) ([]CounterUsage, error) {
	zone, err := a.Location()
	if err != nil {
		return nil, err
	}
	hour, day := chargedPeriods(zone, at)
	return []CounterUsage{
		{Counter: Counter{Name: Hour.String(), Period: Hour, Limit: t.MessagesPerHour}, From: hour.From, Until: hour.Until},
		{Counter: Counter{Name: Day.String(), Period: Day, Limit: t.MessagesPerDay}, From: day.From, Until: day.Until},
	}, nil
}

// now is the clock of a server that has no part in what is judged.
func (c *Charges) now(ctx context.Context) (time.Time, error) {
	now, err := c.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, Unavailable(err, "reading the store's clock")
	}
	return now.UTC().Truncate(time.Millisecond), nil
}
