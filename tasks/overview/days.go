package overview

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
)

// AccountDay has the numbers of an account on a natural day of its own.
type AccountDay struct {
	Start time.Time // in the account's zone
	stats.Day
}

// daysShown is how many days of an account are kept.
const daysShown = 7

// Days returns the numbers of an account on its last days, the present one first.
func (r *Reader) Days(ctx context.Context, of accounts.Account, now time.Time) ([]AccountDay, error) {
	zone, err := of.LocationAt(now)
	if err != nil {
		return nil, err
	}
	days := make([]AccountDay, 0, daysShown)
	for start := calendar.DayStart(now, zone); len(days) < daysShown; start = calendar.DayStart(start.Add(-time.Hour), zone) {
		day, err := r.stats.Read(ctx, of.Name, start)
		if err != nil {
			return nil, err
		}
		days = append(days, AccountDay{Start: start.In(zone), Day: day})
	}
	return days, nil
}
