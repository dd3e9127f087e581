package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// reports puts the daily reports of accounts that want one: at a local time of
// theirs, about the local day before.
type reports struct {
	accounts *sendlimit.Accounts
	stats    *sendlimit.Stats
	notices  *sendlimit.Notices

	mu   sync.Mutex
	done map[string]int64 // by account: the day, by its start in Unix ms, that was put last
}

const (
	// reportWithin is how late a report may be, after workers were down, say.
	reportWithin = 24 * time.Hour
	// reportMargin is how long after its time a report is made: by then every
	// worker has written what it counted.
	reportMargin = 10 * time.Second
)

// put puts the reports whose time has come, each once however many workers do so,
// and returns the ids of those that it put.
func (r *reports) put(ctx context.Context, now time.Time) ([]string, error) {
	accounts, err := r.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	var failed error
	for _, account := range accounts {
		day, due := reportDay(account, now.Add(-reportMargin))
		if !due || r.done[account.Name] == day.UnixMilli() {
			continue
		}
		id, err := r.putOne(ctx, account, day)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.done[account.Name] = day.UnixMilli()
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids, failed
}

// putOne returns no id where the report was put before.
func (r *reports) putOne(ctx context.Context, account sendlimit.Account, day time.Time) (string, error) {
	numbers, err := r.stats.Read(ctx, account.Name, day)
	if err != nil {
		return "", err
	}
	details, err := json.Marshal(sendlimit.NoticeDetails{TimeZone: account.TimeZone, Report: &numbers})
	if err != nil {
		return "", fmt.Errorf("making a daily report: %w", err)
	}
	id := sendlimit.NoticeID(sendlimit.NoticeDailyReport, day, 0, account.Name)
	put, err := r.notices.Put(ctx, sendlimit.Notice{ID: id, Details: details}, time.Time{})
	if err != nil || !put {
		return "", err
	}
	return id, nil
}

// reportDay is the local day, by its start, that an account is to have a report
// of at now. A time of day that a clock change leaves out is taken as an hour
// earlier or later, and the one that comes twice once.
func reportDay(account sendlimit.Account, now time.Time) (day time.Time, due bool) {
	zone, err := account.Location()
	if err != nil || account.ReportAt == "" || account.Contact == "" || account.Disabled {
		return time.Time{}, false
	}
	clock, err := time.Parse("15:04", account.ReportAt)
	if err != nil {
		return time.Time{}, false
	}
	year, month, today := now.In(zone).Date()
	for _, date := range []int{today, today - 1} {
		at := time.Date(year, month, date, clock.Hour(), clock.Minute(), 0, 0, zone)
		if at.After(now) {
			continue
		}
		if now.Sub(at) >= reportWithin {
			return time.Time{}, false
		}
		before := sendlimit.DayStart(at, zone).Add(-time.Second)
		return sendlimit.DayStart(before, zone), true
	}
	return time.Time{}, false
}
