package api

import (
	"errors"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/records/seal"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// PartOptions configure the parts of an API.
type PartOptions struct {
	Submits   submit.Options
	Refits    refit.Options
	Callbacks contact.Callbacks // says which callbacks may be set
	// SharedDevices lets several users share a device's address.
	SharedDevices bool
}

// PartsOf returns options with the parts on a backend. Call end when no request is being answered.
// The error is a *fault.InvalidError.
func PartsOf(b *backend.Backend, c PartOptions) (o Options, end func() error, err error) {
	var failed [16]error
	prefix := b.Timeline.Prefix
	o.Policies, failed[0] = settings.NewPolicies(b.Client, prefix)
	o.Users, failed[1] = settings.NewUsers(b.Client, prefix)
	o.Devices, failed[2] = devices.New(b.Client, devices.Options{Prefix: prefix, Shared: c.SharedDevices})
	o.Accounts, failed[3] = accounts.New(b.Client, prefix)
	o.Charges, failed[4] = quota.New(b.Client, quota.Options{Prefix: prefix})
	o.Events, failed[5] = counters.NewEvents(b.Client, prefix)
	o.Paces, failed[6] = rate.NewPaces(b.Client, prefix, deliver.PaceTarget)
	o.UserData, failed[7] = userdata.New(b)
	o.Callbacks, failed[8] = callbacks.NewRegistry(b.Client, b.Events, c.Callbacks)
	o.Campaigns, failed[9] = campaign.New(b)
	o.Audit, failed[10] = audit.New(b.Client, audit.Options{Prefix: prefix})
	o.Cursors, failed[11] = seal.NewKeeper(b.Client, prefix)
	o.Sessions, failed[13] = session.New(b.Client, prefix, o.Accounts)
	o.Channels, failed[14] = channels.NewStore(b.Client, prefix)
	o.Overview, failed[15] = overview.New(b)
	var stats *overview.Stats
	stats, failed[12] = overview.NewStats(b.Client, prefix)
	if err := errors.Join(failed[:]...); err != nil {
		return o, nil, err
	}
	o.Stats = stats.Read
	if o.Submitter, err = submit.New(b, c.Submits); err != nil {
		return o, nil, err
	}
	if o.Refitter, err = refit.New(b, c.Refits); err != nil {
		return o, nil, errors.Join(err, o.Submitter.Close())
	}
	if o.DeadLetters, err = deadletters.New(b); err != nil {
		return o, nil, errors.Join(err, o.Submitter.Close(), o.Refitter.Close())
	}
	// A later answer may miss its confirmation, and loses nothing.
	return o, func() error {
		err := errors.Join(o.Submitter.Close(), o.Refitter.Close())
		o.DeadLetters.Close()
		b.Forecasts.Close()
		return err
	}, nil
}
