package accounts

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Location returns the time zone in TimeZone. The error is an *InvalidError.
func (a Account) Location() (*time.Location, error) { return location(a.TimeZone) }

// ZoneAt returns the name of the zone whose hours and days count at a time, "" for UTC: the former
// one until ZoneFrom.
func (a Account) ZoneAt(at time.Time) string {
	if at.Before(a.ZoneFrom) {
		return a.FormerZone
	}
	return a.TimeZone
}

// LocationAt returns the zone of ZoneAt. The error is an *InvalidError.
func (a Account) LocationAt(at time.Time) (*time.Location, error) { return location(a.ZoneAt(at)) }

// Periods returns the hour and the day of the account's quota for a send time. The error is an
// *InvalidError.
func (a Account) Periods(at time.Time) (hour, day calendar.Stretch, err error) {
	zone, err := a.LocationAt(at)
	if err != nil {
		return hour, day, err
	}
	hour, day = calendar.ChargedPeriods(zone, at)
	return hour, day, nil
}

func location(zone string) (*time.Location, error) { return policy.Policy{TimeZone: zone}.Location() }

// changeZone changes the time zone. The new zone begins at the end of the current day in the old
// zone. Otherwise each change would begin another day with its own quota. If the old zone is not
// valid, the new one begins at once.
func (a *Account) changeZone(zone string, now time.Time) {
	present := a.ZoneAt(now)
	a.TimeZone, a.FormerZone, a.ZoneFrom = zone, "", time.Time{}
	former, err := location(present)
	if err != nil || sameZone(zone, present) {
		return
	}
	_, day := calendar.ChargedPeriods(former, now)
	a.FormerZone, a.ZoneFrom = present, day.Until
}

func sameZone(a, b string) bool { return a == b || utc(a) && utc(b) }

func utc(zone string) bool { return zone == "" || zone == "UTC" }
