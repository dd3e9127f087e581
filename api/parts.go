package api

import (
	"errors"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/notices"
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
	var failed [7]error
	prefix := b.Timeline.Prefix
	o.Policies, o.Users = settings.NewPolicies(b.Client, b.Keys), settings.NewUsers(b.Client, b.Keys)
	o.Accounts, o.Events = accounts.New(b.Client, b.Keys), counters.NewEvents(b.Client, b.Keys)
	o.Devices = devices.New(b.Client, b.Keys, devices.Options{Shared: c.SharedDevices})
	o.Cursors, o.Channels = seal.NewKeeper(b.Client, b.Keys), channels.NewStore(b.Client, b.Keys)
	o.Sessions, o.Campaigns = session.New(b.Client, b.Keys, o.Accounts), campaign.New(b)
	o.Charges, failed[0] = quota.New(b.Client, quota.Options{Prefix: prefix})
	o.Paces, failed[1] = rate.NewPaces(b.Client, b.Keys, deliver.PaceTarget)
	o.UserData, failed[2] = userdata.New(b)
	o.Callbacks, failed[3] = callbacks.NewRegistry(b.Client, b.Events, c.Callbacks)
	o.Audit, failed[4] = audit.New(b.Client, audit.Options{Prefix: prefix})
	o.Overview, failed[5] = overview.New(b)
	o.Notices, failed[6] = notices.New(b.Client, notices.Options{Prefix: prefix})
	if err := errors.Join(failed[:]...); err != nil {
		return o, nil, err
	}
	o.Stats = o.Overview.Stats.Read
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
