package contact

import (
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Rule says which contacts may be set. The zero Rule refuses URLs at internal addresses.
type Rule struct {
	AllowInternal bool // also URLs at internal addresses
}

// Check checks a contact for a field, such as "alert_to". It accepts text that is no contact: its
// store refuses that. The error is a *fault.InvalidError.
func (r Rule) Check(field, contact string) error {
	valid := policy.ValidContact(contact) == nil
	if r.AllowInternal || !valid || !notifier.InternalContact(contact) {
		return nil
	}
	return fault.Wrong(field, "%s %s is at an internal address, where nothing is sent: name a public one, or set allow_internal_webhooks",
		field, policy.RedactContact(contact))
}

// CheckPolicy checks the contact of a policy's alerts.
func (r Rule) CheckPolicy(p policy.Policy) error { return r.Check("alert_to", p.AlertTo) }

// Callbacks says which URLs accounts may set for their events. The zero Callbacks refuses
// http and internal addresses.
type Callbacks struct {
	AllowInternal bool // also http, and URLs at internal addresses
}

// Check checks a callback URL that is to be set. The error is a *fault.InvalidError, which
// shows only the host.
func (c Callbacks) Check(target string) error {
	if err := accounts.ValidEventsURL(target); err != nil {
		return err
	}
	if c.AllowInternal {
		return nil
	}
	rest, plain := strings.CutPrefix(target, "http://")
	if plain {
		target = "https://" + rest // which is the same address
	}
	switch {
	case notifier.InternalContact(target):
		return fault.Wrong("events_url", "events_url %s is at an internal address, where no events are sent:"+
			" name a public one, or set events_allow_internal", policy.RedactContact(target))
	case plain:
		return fault.Wrong("events_url", "events_url %s is not encrypted: use https, or set events_allow_internal",
			policy.RedactContact("http://"+rest))
	}
	return nil
}
