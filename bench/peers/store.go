package main

import (
	"context"
	"errors"
)

// store is a server for one cell.
type store interface {
	url() string
	pid() int
	bytes(ctx context.Context) (int, error) // in use
	restart(ctx context.Context) error      // after SIGKILL
	version(ctx context.Context) (string, error)
	settings(durable bool) string
	close() error
}

// openStore starts an empty store. A durable one writes to disk: Redis once a second, Postgres before
// each answer.
func openStore(ctx context.Context, kind string, durable bool, cores pins) (store, error) {
	var s store
	var err error
	if kind == postgres {
		s, err = startPostgres(ctx, durable)
	} else {
		s, err = startRedis(ctx, durable)
	}
	if err != nil {
		return nil, err
	}
	if err := cores.store(ctx, s.pid()); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// Kinds of stores.
const (
	redisStore = "Redis"
	postgres   = "Postgres"
)
