package contact

import (
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Rule says which contacts may be set. The zero Rule refuses URLs at internal addresses.
type Rule struct {
	AllowInternal bool // also URLs at internal addresses
}

// Check checks a contact that is to be set in a field, such as "alert_to". It leaves one
// that is no contact at all to whoever stores it. The error is a *fault.InvalidError.
func (r Rule) Check(field, contact string) error {
	valid := policy.ValidContact(contact) == nil
	if r.AllowInternal || !valid || !notifier.InternalContact(contact) {
		return nil
	}
	return fault.Wrong(field, "%s %s is at an internal address, where nothing is sent: name a public one, or set allow_internal_webhooks",
		field, policy.RedactContact(contact))
}

// CheckPolicy checks to whom a policy's alerts go.
func (r Rule) CheckPolicy(p policy.Policy) error { return r.Check("alert_to", p.AlertTo) }
