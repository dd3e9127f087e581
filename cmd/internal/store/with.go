package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// With reads the settings, and calls do with the store that they name and with them. See Using.
func With(
	ctx context.Context, p cli.Program, flags *pflag.FlagSet, do func(redis.UniversalClient, config.Config) error,
) error {
	settings, err := p.Load(flags, ValidURL)
	if err != nil {
		return err
	}
	if given := flags.Lookup("redis-url"); settings.API != "" && (given == nil || !given.Changed) {
		return fault.Wrong("api", "this command works on the store itself, and not with the API at %s: leave api out, or give --redis-url", settings.API)
	}
	if settings.RedisURL == "" {
		return fault.Wrong("redis_url", "this command works on the store itself, and only its worker reaches an embedded one: give the store as REDIS_URL or --redis-url")
	}
	return Using(ctx, settings, func(client redis.UniversalClient) error { return do(client, settings) })
}

// Using opens the store of the settings, and calls do with it. It calls do only if the store can
// be used and has a layout that this program knows. It closes the store after do.
func Using(ctx context.Context, settings config.Config, do func(redis.UniversalClient) error) (err error) {
	client, err := Open(settings.RedisURL, Options{TLS: settings.RedisTLS})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Close(client)) }()
	if _, err := Inspect(ctx, client); err != nil {
		return err
	}
	if _, err := store.PresentLayout.Read(ctx, client, settings.Prefix); err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	return do(client)
}
