package accounts

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Location returns the time zone that the account was given last. The error is an
// *InvalidError.
func (a Account) Location() (*time.Location, error) { return location(a.TimeZone) }

// ZoneAt returns the IANA name of the zone whose hours and days count at a time, "" for
// UTC: until ZoneFrom the former one.
func (a Account) ZoneAt(at time.Time) string {
	if at.Before(a.ZoneFrom) {
		return a.FormerZone
	}
	return a.TimeZone
}

// LocationAt returns the zone of ZoneAt. The error is an *InvalidError.
func (a Account) LocationAt(at time.Time) (*time.Location, error) { return location(a.ZoneAt(at)) }

// Periods returns the hour and the day of the account's quota that a send time counts in.
// The error is an *InvalidError.
func (a Account) Periods(at time.Time) (hour, day calendar.Stretch, err error) {
	zone, err := a.LocationAt(at)
	if err != nil {
		return hour, day, err
	}
	hour, day = calendar.ChargedPeriods(zone, at)
	return hour, day, nil
}

func location(zone string) (*time.Location, error) { return policy.Policy{TimeZone: zone}.Location() }

// changeZone gives the account another time zone. The day under way ends where it ends in
// the zone that counts now; only then the new zone begins. Otherwise each change in the
// middle of a day would begin another day with a quota of its own. The account's former
// zones must be valid; if the one that counts now is not, the new one begins at once.
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
