package store_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	version, err := store.ReadLayout(t.Context(), client, "")
	require.NoError(t, err)
	require.Zero(t, version)
	require.Empty(t, server.Keys(), "reading marks nothing")

	for range 2 {
		require.NoError(t, store.CheckLayout(t.Context(), client, ""))
		version, err = store.ReadLayout(t.Context(), client, "")
		require.NoError(t, err)
		require.Equal(t, store.LayoutVersion, version)
	}
	version, err = store.ReadLayout(t.Context(), client, "other")
	require.NoError(t, err)
	require.Zero(t, version, "each prefix has its own")
}

func TestLayoutOfANewerProgram(t *testing.T) {
	t.Parallel()
	for _, newer := range []string{"4", "1.1", "two"} {
		server, client := redistest.Embedded(t)
		server.HSet("sl:meta", "layout", newer)
		_, err := store.ReadLayout(t.Context(), client, "")
		for _, err := range []error{err, store.CheckLayout(t.Context(), client, "")} {
			require.EqualError(t, err, `the store has layout "`+newer+`", this program knows up to 3: use the newer program, or another prefix`)
			var unfit *fault.UnavailableError
			require.ErrorAs(t, err, &unfit)
			require.Equal(t, fault.CodeUnavailable, unfit.Code())
		}
		require.Equal(t, newer, server.HGet("sl:meta", "layout"), "it is left as it is")
	}
}

func TestLayoutThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetError("LOADING Redis is loading the dataset in memory")
	client.Options().MaxRetries = 0
	_, err := store.ReadLayout(t.Context(), client, "")
	for _, err := range []error{err, store.CheckLayout(t.Context(), client, "")} {
		require.ErrorContains(t, err, "Redis is still loading its data: try again in a moment")
	}
	_, err = store.ReadLayout(t.Context(), client, "A")
	var invalid *fault.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "prefix", invalid.Field)
}

// What an older program wrote is read, but nothing is written beside it.
func TestLayoutOfAnOlderProgram(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.HSet("sl:meta", "layout", "1")
	version, err := store.ReadLayout(t.Context(), client, "")
	require.NoError(t, err)
	require.Equal(t, 1, version)
	err = store.CheckLayout(t.Context(), client, "")
	require.EqualError(t, err, "the store has layout 1, this program needs 3: start a worker of this version, which raises it")
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	require.Equal(t, "1", server.HGet("sl:meta", "layout"))

	for range 2 {
		require.NoError(t, store.UpgradeLayout(t.Context(), client, ""))
		require.NoError(t, store.CheckLayout(t.Context(), client, ""))
		require.Equal(t, "3", server.HGet("sl:meta", "layout"))
	}
}

func TestALayoutIsNeverLowered(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.HSet("sl:meta", "layout", "4")
	require.ErrorContains(t, store.UpgradeLayout(t.Context(), client, ""), "use the newer program")
	require.Equal(t, "4", server.HGet("sl:meta", "layout"))

	// A newer program raises it while this one is about to.
	server.HSet("sl:meta", "layout", "1")
	client.AddHook(beforeTransaction(func() { server.HSet("sl:meta", "layout", "4") }))
	require.ErrorAs(t, store.UpgradeLayout(t.Context(), client, ""), new(*fault.UnavailableError))
	require.Equal(t, "4", server.HGet("sl:meta", "layout"))
}

// beforeTransaction is called before a client sends a transaction.
type beforeTransaction func()

func (b beforeTransaction) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (b beforeTransaction) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (b beforeTransaction) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "multi" {
			b()
		}
		return next(ctx, cmds)
	}
}
