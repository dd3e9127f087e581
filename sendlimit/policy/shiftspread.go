package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// MaxShiftSpread is the maximum of Policy.ShiftSpread.
const MaxShiftSpread = calendar.DayLong

const wantShiftSpread = "a length of time from 0s, for none, to 1d in whole seconds, such as 30m"

// ShiftSpreadOf returns over how long messages of a category are spread that shift out of quiet
// times; zero for not at all.
func (p Policy) ShiftSpreadOf(category string) time.Duration {
	if own := p.Categories[category].ShiftSpread; own != nil {
		return *own
	}
	return p.ShiftSpread
}

// SpreadsShifts reports whether ShiftSpreadOf is set for some category at some time.
func (p Policy) SpreadsShifts() bool {
	return p.ShiftSpread > 0 ||
		slices.ContainsFunc(slices.Collect(maps.Values(p.Categories)), func(c CategoryRules) bool { return c.ShiftSpread != nil && *c.ShiftSpread > 0 }) ||
		slices.ContainsFunc(p.Changes, func(c DatedChange) bool { return p.During(c).SpreadsShifts() })
}

// ParseShiftSpread reads a length of time for Policy.ShiftSpread. The error is a
// *fault.InvalidError for the field "shift_spread".
func ParseShiftSpread(text string) (time.Duration, error) {
	spread, err := calendar.ParseDuration(text)
	if err != nil || !validShiftSpread(spread) {
		return 0, &fault.InvalidError{Field: "shift_spread", Value: text, Want: wantShiftSpread}
	}
	return spread, nil
}

func validShiftSpread(spread time.Duration) bool {
	return spread >= 0 && spread <= MaxShiftSpread && spread%time.Second == 0
}

func validateShiftSpread(spread time.Duration, field string) error {
	if validShiftSpread(spread) {
		return nil
	}
	return &fault.InvalidError{Field: field, Value: spread.String(), Want: wantShiftSpread}
}

func formatShiftSpread(spread *time.Duration) string {
	if spread == nil {
		return ""
	}
	return calendar.FormatDuration(*spread)
}
