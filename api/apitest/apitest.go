package apitest

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Open opens the parts of an API on a store, and gives the store the default policy. The
// options lack Now. Call end once no request is answered.
func Open(
	ctx context.Context, client redis.UniversalClient, submits submit.Options,
) (b *backend.Backend, o api.Options, end func() error, err error) {
	if b, err = backend.Open(client, backend.Options{}); err != nil {
		return nil, o, nil, err
	}
	if o, err = api.PartsOf(b, contact.Callbacks{}); err != nil {
		return nil, o, nil, err
	}
	if _, err = o.Policies.Seed(ctx, policy.Default()); err != nil {
		return nil, o, nil, err
	}
	if o.DeadLetters, err = deadletters.New(b); err != nil {
		return nil, o, nil, err
	}
	if o.Submitter, err = submit.New(b, submits); err != nil {
		return nil, o, nil, err
	}
	if o.Refitter, err = refit.New(b, refit.Options{
		Rest: func(context.Context, time.Duration) error { return nil }, // nobody else uses the store
	}); err != nil {
		return nil, o, nil, errors.Join(err, o.Submitter.Close())
	}
	o.Stats = func(context.Context) (message.Stats, error) { return message.Stats{}, nil }
	o.Version = "1.2.3"
	return b, o, func() error {
		o.DeadLetters.Close()
		return errors.Join(o.Submitter.Close(), o.Refitter.Close())
	}, nil
}
