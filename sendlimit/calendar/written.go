package calendar

import (
	"regexp"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Descriptions of valid times, for fault.InvalidError.Want.
const (
	WantTime  = "an RFC 3339 time such as 2040-06-22T11:11:11Z"
	WantZone  = "a time with its zone, such as 2040-06-22T11:11:11Z or 2040-06-22T11:11:11+01:00"
	WantYears = "a time of the years 1 to 9999 in UTC"
)

// written matches the forms in which systems write a time: a date, hours and minutes, seconds with
// or without a fraction, and the offset from UTC.
var written = regexp.MustCompile(
	`^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(\.\d{1,30})?)?(?: ?([Zz]|UTC|[+-]\d\d(?::?\d\d)?))?$`)

// ParseTime reads a time: RFC 3339, and common variants: no seconds, a space instead of the T,
// small letters, or an offset as +0100, +01 or UTC, maybe after a space. A time without an offset
// is local time in zone; with a nil zone it is refused. The result is in UTC, cut to the
// millisecond.
//
// The error is a *fault.InvalidError without a field. Its Want is WantTime for a text of no such
// form, and WantZone for a local time without a zone.
func ParseTime(text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && isStrict(text) {
		return cut(text, at)
	}
	invalid := func(want string) (time.Time, error) {
		return time.Time{}, &fault.InvalidError{Value: text, Want: want}
	}
	part := written.FindStringSubmatch(text)
	if part == nil {
		return invalid(WantTime)
	}
	day, hour, minute, second, fraction, offset := part[1], part[2], part[3], part[4], part[5], strings.ToUpper(part[6])
	local, want := readLocal(part)
	switch {
	case want != "":
		return invalid(want)
	case offset == "" && zone == nil:
		return invalid(WantZone)
	case offset == "":
		at, wrong := local.Strictly(zone)
		if wrong != "" {
			return time.Time{}, &fault.InvalidError{Value: text, Says: text + " " + wrong}
		}
		return cut(text, at)
	}
	if second == "" {
		second = "00"
	}
	if offset == "Z" || offset == "UTC" {
		offset = "Z"
	} else {
		digits := strings.Replace(offset[1:], ":", "", 1) + "00"
		if digits[:2] > "23" || digits[2:4] > "59" {
			return invalid("an offset from UTC of at most 23:59")
		}
		offset = offset[:1] + digits[:2] + ":" + digits[2:4]
	}
	at, err := time.Parse(time.RFC3339Nano, day+"T"+hour+":"+minute+":"+second+fraction+offset)
	if err != nil {
		return invalid(wantExisting)
	}
	return cut(text, at)
}

const (
	wantExisting = "a date and time that exist"
	wantHours    = "hours from 00 to 23: the end of a day is 00:00:00 of the next day"
	wantSeconds  = "seconds from 00 to 59"
)

// isStrict rejects texts that Go accepts although they are not RFC 3339: an hour of one digit, a
// comma before the fraction, an offset of 24 hours or 60 minutes.
func isStrict(text string) bool {
	if text[len("2006-01-02T15")] != ':' || strings.Contains(text, ",") {
		return false
	}
	offset := text[len(text)-len("07:00"):]
	return strings.HasSuffix(text, "Z") || offset[:2] < "24" && offset[3:] < "60"
}

// cut cuts a time to the millisecond. It rejects times outside InYears, and the zero time, which
// would mean no time.
func cut(text string, at time.Time) (time.Time, error) {
	at = at.UTC().Truncate(time.Millisecond)
	if !InYears(at) || at.IsZero() {
		return time.Time{}, &fault.InvalidError{Value: text, Want: WantYears}
	}
	return at, nil
}

// InYears reports whether RFC 3339 can write a time in UTC. Its zone can move a time out of these
// years.
func InYears(at time.Time) bool {
	year := at.UTC().Year()
	return 1 <= year && year <= 9999
}
