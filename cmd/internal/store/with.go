package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

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
