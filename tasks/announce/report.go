package announce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// Reports puts the daily reports of accounts into the outbox, at the local time that an account has
// set, about the local day before. It is for one caller at a time.
type Reports struct {
	Accounts *accounts.Accounts
	Activity *activity.Log
	Notices  *notices.Outbox
	Done     map[string]int64 // by account: the start of the last reported day, Unix ms
}

const (
	// reportWithin is how late a report may be, for instance after workers were down.
	reportWithin = 24 * time.Hour
	// reportMargin is the delay of a report: by then every worker has written its counts.
	reportMargin = 10 * time.Second
)

// Put puts the due reports and returns their ids. Each is put once, by one of all workers.
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

// putOne returns the id of the report, "" if it was put before.
func (r *Reports) putOne(ctx context.Context, account accounts.Account, day time.Time) (string, error) {
	days, err := r.Activity.Days(ctx, account.Name, day)
	if err != nil {
		return "", err
	}
	details, err := json.Marshal(notices.Details{TimeZone: account.TimeZone, Report: &days[0].Counts})
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

// reportDay returns the start of the local day of an account's report, and whether the
// report is due. If a clock change skips the report time, it moves by an hour
// on the same day. If the time comes twice, it counts once.
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
		if at.Before(begins) { // midnight is skipped: time.Date chose the evening before
			at = begins
		}
		if at.After(now) {
			continue
		}
		if now.Sub(at) >= reportWithin {
			return time.Time{}, false
		}
		// There is no report about a day before the account was created.
		return calendar.DayStart(begins.Add(-time.Second), zone), account.CreatedAt.Before(begins)
	}
	return time.Time{}, false
}
