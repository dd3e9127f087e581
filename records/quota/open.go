package quota

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// NextOpen returns the time nearest to r.At, from it to until, at which the account's hour and day
// and the throttle of a request have messages left; zero for none. It searches backwards if until
// is before r.At. The charge of r.Info does not count, as in Hold.
func (c *Charges) NextOpen(ctx context.Context, r Request, until time.Time) (time.Time, error) {
	return c.nextOpen(ctx, r, until, func(_ string, used int64) int64 { return used })
}

// limit limits the messages of each natural period of a kind.
type limit struct {
	most   int64
	around func(at time.Time) (period, error)
	own    string // key of the counter with the message's present charge; "" for none
}

// period is a span of send times with one counter.
type period struct {
	key string
	calendar.Stretch
}

// limits returns the limits for a request.
func (c *Charges) limits(r Request) []limit {
	var own charged
	if r.Info != nil {
		own = chargedBy(r.Info.Hold)
	}
	var limits []limit
	if r.Account.Name != "" && r.Tier.MessagesPerDay > 0 {
		limits = append(limits, c.accountLimit(r, "d", r.Tier.MessagesPerDay, own.day.From))
	}
	if r.Account.Name != "" && r.Tier.MessagesPerHour > 0 {
		limits = append(limits, c.accountLimit(r, "h", r.Tier.MessagesPerHour, own.hour.From))
	}
	if t := r.Throttle; !t.IsZero() {
		of := limit{most: int64(t.Limit), around: func(at time.Time) (period, error) {
			return period{c.throttleKey(t, at), t.Around(at)}, nil
		}}
		if own.throttle == t.Name {
			of.own = c.throttleKey(t, own.period)
		}
		limits = append(limits, of)
	}
	return limits
}

// accountLimit returns the limit of an account's hours, "h", or days, "d". own is the start of the
// period of the message's present charge; zero for none.
func (c *Charges) accountLimit(r Request, kind string, most int64, own time.Time) limit {
	l := limit{most: most, around: func(at time.Time) (period, error) {
		around, day, err := r.Account.Periods(at)
		if kind == "d" {
			around = day
		}
		p := period{c.keys.Charged(r.Account.Name, kind, around.From), around}
		if zone := r.Account.ZoneFrom; p.From.Before(zone) && !at.Before(zone) {
			p.From = zone // earlier times count in the former zone
		}
		return p, err
	}}
	if !own.IsZero() && r.Info.Account == r.Account.Name {
		l.own = c.keys.Charged(r.Account.Name, kind, own)
	}
	return l
}

// nextOpen is NextOpen; really corrects the usage from the store. It goes from one limit's time to
// the next one's until they agree.
func (c *Charges) nextOpen(
	ctx context.Context, r Request, until time.Time, really func(key string, used int64) int64,
) (time.Time, error) {
	limits, at := c.limits(r), r.At
	for i, agreed := 0, 0; agreed < len(limits); i = (i + 1) % len(limits) {
		open, err := c.openIn(ctx, limits[i], at, until, really)
		if err != nil || open.IsZero() {
			return time.Time{}, err
		}
		if agreed++; !open.Equal(at) {
			at, agreed = open, 1
		}
	}
	return at, nil
}

// openIn returns the time nearest to a time, from it to until, in a period with messages left; zero
// for none. It reads a few periods, then more at a time.
func (c *Charges) openIn(
	ctx context.Context, l limit, at, until time.Time, really func(key string, used int64) int64,
) (time.Time, error) {
	const first, most = 8, 1024 // periods at a time
	backwards := until.Before(at)
	beyond := func() bool { return backwards && at.Before(until) || !backwards && at.After(until) }
	for n := first; !beyond(); n = min(4*n, most) {
		var times []time.Time
		var keys []string
		for len(keys) < n && !beyond() {
			p, err := l.around(at)
			if err != nil {
				return time.Time{}, err
			}
			times, keys = append(times, at), append(keys, p.key)
			if at = p.Until; backwards {
				at = p.From.Add(-time.Millisecond)
			}
		}
		used, err := c.used(ctx, keys)
		if err != nil {
			return time.Time{}, err
		}
		for i, key := range keys {
			if key == l.own || really(key, used[i]) < l.most {
				return times[i], nil
			}
		}
	}
	return time.Time{}, nil
}
