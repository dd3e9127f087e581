package operations

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/channelcheck"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/refit"
)

// Parts returns the parts of the API for the settings, the same in every program.
func Parts(c config.Config) api.PartOptions {
	submits := store.SubmitterOptions(c)
	return api.PartOptions{
		Submits: submits, Refits: refit.Options{Options: submits},
		Callbacks: contact.Callbacks{AllowInternal: c.EventsAllowInternal}, SharedDevices: c.SharedDevices,
	}
}

// Open returns the options of an API on a backend, complete except for how it is served. Call end
// when all requests are answered.
func Open(b *backend.Backend, c config.Config, parts api.PartOptions) (o api.Options, end func() error, err error) {
	o, end, err = api.PartsOf(b, parts)
	if err != nil {
		return o, nil, err
	}
	read := o.Stats
	o.Stats = func(ctx context.Context) (message.Stats, error) {
		now, err := read(ctx)
		now.Version = cli.Version()
		return now, err
	}
	o.Now, o.Version = time.Now, cli.Version()
	o.Contacts, o.CheckDevice = contact.Rule{AllowInternal: c.AllowInternalWebhooks}, channelcheck.New(c).Device
	return o, end, nil
}
