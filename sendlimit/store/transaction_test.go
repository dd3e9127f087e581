package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// A server that refuses a command of a transaction only answers that it discarded the transaction.
func TestARefusedTransactionSaysWhy(t *testing.T) {
	t.Parallel()
	full := func(ctx context.Context, server *redis.Client) error {
		return server.ConfigSet(ctx, "maxmemory", "1").Err()
	}
	alone, cluster := redistest.Real(t).Client(), redistest.RealCluster(t).Client()
	for _, row := range []struct {
		name   string
		client redis.UniversalClient
		fill   func(context.Context) error
	}{
		{"one server", alone, func(ctx context.Context) error { return full(ctx, alone) }},
		{"a cluster", cluster, func(ctx context.Context) error { return cluster.ForEachMaster(ctx, full) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			transaction := func() error {
				return store.Transaction(t.Context(), row.client, func(pipe redis.Pipeliner) error {
					pipe.Exists(t.Context(), "a")
					pipe.Set(t.Context(), "a", 1, 0)
					return nil
				})
			}
			require.NoError(t, transaction())
			require.NoError(t, row.fill(t.Context()))
			err := store.Explain(transaction(), "reserving")
			reason, ok := errors.AsType[*fault.UnavailableError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, fault.CodeStoreFull, reason.Code())
		})
	}
}
