package groups

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// usageText describes an account and its usage for a person.
func usageText(a client.AccountDetails) string {
	zone := zoneAt(a.Account, a.Usage.Now.Time)
	var used strings.Builder
	used.WriteString("used:\n")
	left := func(limit int64, remaining *int64) string {
		if remaining == nil {
			return "no limit"
		}
		return fmt.Sprintf("%d left of %d", *remaining, limit)
	}
	for _, of := range []struct {
		name string
		client.QuotaUsage
	}{{"hour", a.Usage.Hour}, {"day", a.Usage.Day}} {
		fmt.Fprintf(&used, "  - %s: %d, %s, until %s\n", of.name, of.Used, left(of.Limit, of.Remaining), cli.FormatTime(of.Until.Time, zone))
	}
	fmt.Fprintf(&used, "  - devices: %d, %s\n", a.Usage.Devices.Used, left(a.Usage.Devices.Limit, a.Usage.Devices.Remaining))
	if requests := a.Usage.Requests; requests != nil {
		for _, of := range []struct {
			kind string
			client.RequestUsage
		}{{"submits", requests.Submit}, {"reads", requests.Read}, {"changes", requests.Change}} {
			fmt.Fprintf(&used, "  - %s of the day: %d, %d left of %d, until %s\n",
				of.kind, of.Used, of.Remaining, of.Limit, cli.FormatTime(of.Until.Time, zone))
		}
	}
	if a.Callback != nil {
		used.WriteString(callbackText(*a.Callback))
	}
	return accountText(a.Account) + used.String()
}

// zoneAt returns the time zone of an account's hours and days at a time, UTC for a zone that this
// program does not know.
func zoneAt(a client.Account, now time.Time) *time.Location {
	name := a.TimeZone
	if a.TimeZoneFrom != nil && now.Before(a.TimeZoneFrom.Time) {
		name = a.FormerTimeZone
	}
	zone, err := calendar.ParseTimeZone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// accountText describes an account for a person.
func accountText(account client.Account) string {
	var s strings.Builder
	zone := cmp.Or(account.TimeZone, "UTC")
	if from := account.TimeZoneFrom; from != nil {
		zone += fmt.Sprintf(" from %s, before that %s", cli.FormatTime(from.Time, time.UTC), cmp.Or(account.FormerTimeZone, "UTC"))
	}
	fmt.Fprintf(&s, "name: %s\ntier: %s\ncontact: %s\ntime_zone: %s\nreport_at: %s\nevents_url: %s\nstate: %s\ncreated_at: %s\n",
		account.Name, cmp.Or(account.Tier, "none"), cmp.Or(account.Contact, "none"), zone,
		cmp.Or(account.ReportAt, "never"), cmp.Or(account.EventsURL, "none"), stateOf(account), cli.FormatTime(account.CreatedAt.Time, time.UTC))
	if len(account.Keys) == 0 {
		s.WriteString("keys: none\n")
	} else {
		s.WriteString("keys:\n")
	}
	for _, key := range account.Keys {
		fmt.Fprintf(&s, "  - %s: %s, created %s", key.ID, scopesOf(key), cli.FormatTime(key.CreatedAt.Time, time.UTC))
		if !key.ExpiresAt.IsZero() {
			fmt.Fprintf(&s, ", expires %s", cli.FormatTime(key.ExpiresAt.Time, time.UTC))
		}
		s.WriteString("\n")
	}
	return s.String()
}

func stateOf(a client.Account) string {
	if a.Disabled {
		return "disabled"
	}
	return "enabled"
}
