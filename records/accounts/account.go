package accounts

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Account is a sender. It has API keys, a tier with limits, and a contact for alerts about its
// quota.
type Account struct {
	Name string // 1 to 64 of a-z 0-9 _ -
	Tier string // the name of its tier; "" for no limits
	// Contact receives alerts: an e-mail address or an https: URL, see policy.ValidContact. ""
	// means nobody.
	Contact string
	// TimeZone is the IANA zone of the quota's hours and days; "" means UTC. After a change
	// FormerZone counts until ZoneFrom, the end of the day of the change; see ZoneAt. Only Set sets
	// these two.
	TimeZone   string
	FormerZone string
	ZoneFrom   time.Time // zero if the zone was never changed
	// ReportAt is the local time of the daily report, "08:00"; "" means no report.
	ReportAt string
	// EventsURL is the callback URL; "" for none. Only SetEvents and RemoveEvents change it.
	EventsURL string
	Disabled  bool      // its keys are refused; accepted messages are still sent
	CreatedAt time.Time // UTC with milliseconds
	// Keys are the keys, the oldest first. Only AddKey, RotateKey and RemoveKey change them.
	Keys []APIKey
}

// Validate checks each field. The error is an *InvalidError, or InvalidErrors for several fields.
func (a Account) Validate() error {
	var wrong fault.InvalidErrors
	if !ValidName(a.Name) {
		wrong.Add(&fault.InvalidError{Field: "account", Value: a.Name, Want: keyspace.WantName})
	}
	wrong.Add(a.validateDescription())
	return wrong.Err()
}

// validateDescription checks each field except the name.
func (a Account) validateDescription() error {
	var wrong fault.InvalidErrors
	if a.Tier != "" && !keyspace.ValidName(a.Tier) {
		wrong.Add(&fault.InvalidError{Field: "tier", Value: a.Tier, Want: tierNameWant})
	}
	if a.Contact != "" {
		wrong.Add(policy.ValidContact(a.Contact))
	}
	_, err := a.Location()
	wrong.Add(err)
	if a.ReportAt != "" {
		if at, err := time.Parse("15:04", a.ReportAt); err != nil || at.Format("15:04") != a.ReportAt {
			wrong.Add(&fault.InvalidError{Field: "report_at", Value: a.ReportAt, Want: "a time of day such as 08:00"})
		}
	}
	return wrong.Err()
}

// ValidName reports whether an account may have a name: 1 to 64 of a-z 0-9 _ -.
func ValidName(name string) bool { return keyspace.ValidName(name) }

// Change changes an account. A nil field stays unchanged.
type Change struct {
	Tier, Contact, TimeZone, ReportAt *string
	Disabled                          *bool
}

// Validate checks each changed field. The error is an *InvalidError, or InvalidErrors for several
// fields.
func (c Change) Validate() error {
	var a Account
	c.apply(&a)
	if c.TimeZone != nil {
		a.TimeZone = *c.TimeZone
	}
	return a.validateDescription()
}

// apply changes the fields that need no other change.
func (c Change) apply(a *Account) {
	for _, field := range []struct{ to, from *string }{
		{&a.Tier, c.Tier},
		{&a.Contact, c.Contact},
		{&a.ReportAt, c.ReportAt},
	} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
}
