package overview

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// daysShown is how many days of an account are kept.
const daysShown = 7

// Days returns the counts of an account's last days, the present one first. Their starts are in the
// account's zone.
func (r *Reader) Days(ctx context.Context, of accounts.Account, now time.Time) ([]activity.Span, error) {
	zone, err := of.LocationAt(now)
	if err != nil {
		return nil, err
	}
	starts := make([]time.Time, daysShown)
	start := calendar.DayStart(now, zone)
	for i := range starts {
		starts[i], start = start.In(zone), calendar.DayStart(start.Add(-time.Hour), zone)
	}
	return r.activity.Days(ctx, of.Name, starts...)
}

// Alerted returns the highest threshold of an account's quota with an alert on the day that
// begins at a time, percent; 0 for none.
func (r *Reader) Alerted(ctx context.Context, account string, day time.Time) (int, error) {
	percent, err := r.client.Get(ctx, r.keys.Alert(keyspace.AlertOfAccount, account, day.UnixMilli())).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, store.Explain(err, "reading the alerts of an account")
	}
	return percent, nil
}

// daysOfHistory is how many days History has.
const daysOfHistory = 7

// historyFor is how long a history is kept.
const historyFor = time.Minute

// History returns the counts of each hour of the last seven days, the present one
// last. It is at most a minute old. now is the local clock.
func (r *Reader) History(ctx context.Context, now time.Time) ([]activity.Span, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.past.due(now, historyFor) {
		return r.history, nil
	}
	to := now.UTC().Truncate(time.Hour).Add(time.Hour)
	history, err := r.activity.Hours(ctx, to.Add(-daysOfHistory*24*time.Hour), to)
	if err != nil {
		r.past = part{}
		return nil, err
	}
	r.history = history
	return history, nil
}
