package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
)

// Reports puts the daily reports of accounts that want one: at a local time of
// theirs, about the local day before. It is for one caller at a time.
type Reports struct {
	Accounts *accounts.Accounts
	Stats    *stats.Stats
	Notices  *notices.Outbox
	Done     map[string]int64 // by account: the day, by its start in Unix ms, that was put last
}

const (
	// reportWithin is how late a report may be, after workers were down, say.
	reportWithin = 24 * time.Hour
	// reportMargin is how long after its time a report is made: by then every
	// worker has written what it counted.
	reportMargin = 10 * time.Second
)

// Put puts the reports whose time has come, each once however many workers do so,
// and returns the ids of those that it put.
func (r *Reports) Put(ctx context.Context, now time.Time) ([]string, error) {
	accounts, err := r.Accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	var failed error
	for _, account := range accounts {
		day, due := reportDay(account, now.Add(-reportMargin))
		if !due || r.Done[account.Name] == day.UnixMilli() {
			continue
		}
		id, err := r.putOne(ctx, account, day)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		r.Done[account.Name] = day.UnixMilli()
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids, failed
}

// putOne returns no id where the report was put before.
func (r *Reports) putOne(ctx context.Context, account accounts.Account, day time.Time) (string, error) {
	numbers, err := r.Stats.Read(ctx, account.Name, day)
	if err != nil {
		return "", err
	}
	details, err := json.Marshal(notices.Details{TimeZone: account.TimeZone, Report: &numbers})
	if err != nil {
		return "", fmt.Errorf("making a daily report: %w", err)
	}
	id := notices.FormatID(notices.DailyReport, day, 0, account.Name)
	put, err := r.Notices.Put(ctx, notices.Notice{ID: id, Details: details}, time.Time{})
	if err != nil || !put {
		return "", err
	}
	return id, nil
}

// reportDay is the local day, by its start, that an account is to have a report
// of at now. A time of day that a clock change leaves out is taken as an hour
// earlier or later on the same day, and the one that comes twice once.
func reportDay(account accounts.Account, now time.Time) (day time.Time, due bool) {
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
		begins := calendar.DayStart(time.Date(year, month, date, 12, 0, 0, 0, zone), zone)
		at := time.Date(year, month, date, clock.Hour(), clock.Minute(), 0, 0, zone)
		if at.Before(begins) { // midnight is left out, and it was taken as the evening before
			at = begins
		}
		if at.After(now) {
			continue
		}
		if now.Sub(at) >= reportWithin {
			return time.Time{}, false
		}
		// A new account has nothing to be told of the days before it.
		return calendar.DayStart(begins.Add(-time.Second), zone), account.CreatedAt.Before(begins)
	}
	return time.Time{}, false
}
