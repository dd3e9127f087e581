package announce

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Contacts finds the contact of a notice, at its delivery: a changed contact takes effect at once.
type Contacts struct {
	users    *settings.Users
	Accounts *accounts.Accounts
	policies *settings.Policies
	events   *counters.Events
}

// NewContacts returns the contacts in a store.
func NewContacts(client redis.UniversalClient, keys keyspace.Keys) *Contacts {
	return &Contacts{
		users: settings.NewUsers(client, keys), Accounts: accounts.New(client, keys),
		policies: settings.NewPolicies(client, keys), events: counters.NewEvents(client, keys),
	}
}

// announcement is a notice in the words of a channel, and its contact: "" for nobody.
type announcement struct {
	to         string
	notice     notifier.Notice
	unreadable bool // its details can't be read
}

// announcementOf returns the announcement of a notice.
func (c *Contacts) announcementOf(ctx context.Context, n notices.Notice) (announcement, error) {
	details, err := n.ParseDetails()
	if err != nil {
		return announcement{unreadable: true}, nil //nolint:swallowed // a retry finds the same
	}
	to, zone, err := c.contactOf(ctx, n, details.TimeZone)
	if err != nil {
		return announcement{}, err
	}
	said := notifier.Notice{
		ID: n.ID, Kind: notifier.NoticeKind(n.Kind), Subject: n.Subject,
		Threshold: n.Threshold, Used: n.Used, Limit: n.Limit,
		Day: dayOf(n.Since, zone), TimeZone: zone, Rule: details.Rule, Policy: details.Policy, More: details.More,
	}
	if event, key, ok := n.EventKey(); ok {
		said.Event, said.Key = event, key
		said.Since, said.Until = momentOf(n.Since, zone), momentOf(time.UnixMilli(details.Until), zone)
	}
	if n.Kind == notices.CallbackChanged || n.Kind == notices.KeysChanged {
		said.Change, said.Since = details.Change, momentOf(n.Since, zone)
		said.Host, said.Key, said.Scopes = details.Host, details.Key, details.Scopes
	}
	for _, user := range details.Users {
		said.Users = append(said.Users, notifier.UserQuota{
			User: user.User, Threshold: user.Threshold, Used: user.Used, Limit: user.Limit,
			Day: dayOf(time.UnixMilli(user.Day), zone),
		})
	}
	if r := details.Report; r != nil {
		said.Report = &notifier.Report{
			Sent: r.Delivered, Dropped: activity.Total(r.Dropped), Failed: activity.Total(r.Failed), Cancelled: r.Cancelled, Late: r.Late,
			Accepted: r.Accepted, Retried: r.Retried, WaitingChange: r.WaitingChange(), Refused: r.Refused,
		}
	}
	return announcement{to: to, notice: said}, nil
}

// contactOf returns the contact of a notice and the time zone of its days. The users of a digest
// may have several zones: it has the policy's.
func (c *Contacts) contactOf(ctx context.Context, n notices.Notice, zone string) (to, inZone string, err error) {
	switch n.Kind {
	case notices.UserQuota:
		settings, err := c.users.Get(ctx, n.Subject)
		return settings.Contact, zone, err
	case notices.AccountQuota, notices.DailyReport, notices.CallbackChanged, notices.KeysChanged:
		account, _, err := c.Accounts.Get(ctx, n.Subject)
		return account.Contact, zone, err
	case notices.UserQuotaDigest:
		policy, ok, err := c.policies.Load(ctx, n.Subject)
		if err != nil || !ok {
			return "", zone, err
		}
		return policy.AlertTo, policy.TimeZone, nil
	case notices.EventLimit:
		name, _, _ := n.EventKey()
		event, _, err := c.events.Get(ctx, name)
		return event.AlertTo, zone, err
	default:
		return "", zone, nil
	}
}

func dayOf(at time.Time, zone string) string { return at.In(locationOf(zone)).Format(time.DateOnly) }

func momentOf(at time.Time, zone string) string { return at.In(locationOf(zone)).Format(time.RFC3339) }

// locationOf returns a zone. It returns UTC for "" and for a zone that this program does not know.
func locationOf(zone string) *time.Location {
	location, err := calendar.ParseTimeZone(zone)
	if err != nil {
		return time.UTC
	}
	return location
}
