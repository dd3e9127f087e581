package apitest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
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
	if o, end, err = api.PartsOf(b, api.PartOptions{
		Submits: submits,
		Refits:  refit.Options{Rest: func(context.Context, time.Duration) error { return nil }}, // nobody else uses the store
	}); err != nil {
		return nil, o, nil, err
	}
	if _, err = o.Policies.Seed(ctx, policy.Default()); err != nil {
		return nil, o, nil, errors.Join(err, end())
	}
	o.Stats = func(context.Context) (message.Stats, error) { return message.Stats{}, nil }
	o.Version = "1.2.3"
	return b, o, end, nil
}

// WithoutLog returns what a dump of a store has beside the audit log and counts of requests.
func WithoutLog(dump string) string {
	var kept strings.Builder
	skips := false
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "- ") {
			skips = strings.Contains(line, "{audit}") || strings.Contains(line, ":counters:")
		}
		if !skips {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
