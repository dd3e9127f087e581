package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
)

// withStore calls do with the settings and the store that they name, once it is
// known to be of a layout that this program can use.
func (p program) withStore(
	ctx context.Context, flags *pflag.FlagSet, do func(redis.UniversalClient, config.Config) error,
) (err error) {
	settings, err := p.load(flags, store.ValidURL)
	if err != nil {
		return err
	}
	client, err := store.Open(settings.StoreURL(), store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storage{client: client}.close()) }()
	if _, err := store.Inspect(ctx, client); err != nil {
		return err
	}
	if _, err := redisstore.ReadLayout(ctx, client, settings.Prefix); err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	return do(client, settings)
}
