package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// holidayFile is the extension of a file of holidays: iCalendar, RFC 5545.
const holidayFile = ".ics"

// withHolidays replaces each .ics file among dates by its dates from today on. Relative names are
// relative to the folder. The error is a *fault.InvalidError for the field.
func withHolidays(field, folder string, dates []string, today time.Time) ([]string, error) {
	var all []string
	for _, date := range dates {
		if !strings.HasSuffix(strings.ToLower(date), holidayFile) {
			all = append(all, date)
			continue
		}
		path := date
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		text, err := readPath(path)
		var days []string
		if err == nil {
			days, err = holidays(text, today)
		}
		if err != nil {
			return nil, fault.Wrong(field, "%s: the holidays of %s can't be read: %v", field, fault.Clip(path), err)
		}
		all = append(all, days...)
	}
	return all, nil
}

// holidays returns the days of a calendar from today on, sorted: dates, ranges of dates, and days
// of every year, as blackouts has them.
func holidays(text []byte, today time.Time) ([]string, error) {
	calendar, err := ics.ParseCalendar(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var days []string
	for _, event := range calendar.Events() {
		if status := event.GetProperty(ics.ComponentPropertyStatus); status != nil && status.Value == string(ics.ObjectStatusCancelled) {
			continue
		}
		day, err := holiday(event, today)
		if err != nil {
			summary := ""
			if property := event.GetProperty(ics.ComponentPropertySummary); property != nil {
				summary = property.Value
			}
			return nil, fmt.Errorf("the event %q %w", fault.Clip(summary), err)
		}
		if day != "" {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return slices.Compact(days), nil
}

// holiday returns the dates of one event; "" if it is over.
func holiday(event *ics.VEvent, today time.Time) (string, error) {
	start := event.GetProperty(ics.ComponentPropertyDtStart)
	if start == nil || len(start.Value) != len("20060102") {
		return "", errors.New("is no whole day: blackouts are dates")
	}
	from, err := event.GetAllDayStartAt()
	if err != nil {
		return "", errors.New("has no date at which it begins")
	}
	until := from
	if event.HasProperty(ics.ComponentPropertyDtEnd) {
		end, err := event.GetAllDayEndAt() // which is not included
		if err != nil || !end.After(from) {
			return "", errors.New("does not end after it begins")
		}
		until = end.AddDate(0, 0, -1)
	}
	first, last := from.Format(time.DateOnly), until.Format(time.DateOnly)
	rule := event.GetProperty(ics.ComponentPropertyRrule)
	switch {
	case rule != nil && strings.EqualFold(rule.Value, "FREQ=YEARLY"):
		first, last = first[len("2006-"):], last[len("2006-"):]
	case rule != nil, event.HasProperty(ics.ComponentPropertyRdate):
		return "", errors.New("repeats by a rule other than FREQ=YEARLY: write its dates into the policy")
	case last < today.Format(time.DateOnly):
		return "", nil
	}
	if first == last {
		return first, nil
	}
	return first + ".." + last, nil
}
