package api

import (
	"errors"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/records/seal"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// PartsOf returns options with the parts that need only the store and no closing: all that are
// required but Submitter, DeadLetters, Refitter, Stats and Now. The rule says which callbacks
// may be set. The error is a *fault.InvalidError.
func PartsOf(b *backend.Backend, rule contact.Callbacks) (Options, error) {
	var o Options
	var failed [12]error
	prefix := b.Timeline.Prefix
	o.Policies, failed[0] = settings.NewPolicies(b.Client, prefix)
	o.Users, failed[1] = settings.NewUsers(b.Client, prefix)
	o.Devices, failed[2] = devices.New(b.Client, devices.Options{Prefix: prefix})
	o.Accounts, failed[3] = accounts.New(b.Client, prefix)
	o.Charges, failed[4] = quota.New(b.Client, quota.Options{Prefix: prefix})
	o.Events, failed[5] = counters.NewEvents(b.Client, prefix)
	o.Paces, failed[6] = rate.NewPaces(b.Client, prefix, deliver.PaceTarget)
	o.UserData, failed[7] = userdata.New(b)
	o.Callbacks, failed[8] = callbacks.NewRegistry(b.Client, b.Events, rule)
	o.Campaigns, failed[9] = campaign.New(b)
	o.Audit, failed[10] = audit.New(b.Client, audit.Options{Prefix: prefix})
	o.Cursors, failed[11] = seal.NewKeeper(b.Client, prefix)
	return o, errors.Join(failed[:]...)
}
