package store_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// present is the layout of these tests, so that there is a former one.
const present store.Layout = 2

func TestLayout(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	version, err := present.Read(t.Context(), client, keyspace.KeysUnder(""))
	require.NoError(t, err)
	require.Zero(t, version)
	require.Empty(t, server.Keys(), "reading marks nothing")

	for range 2 {
		require.NoError(t, present.Check(t.Context(), client, keyspace.KeysUnder("")))
		version, err = present.Read(t.Context(), client, keyspace.KeysUnder(""))
		require.NoError(t, err)
		require.Equal(t, present, version)
	}
	version, err = present.Read(t.Context(), client, keyspace.KeysUnder("other"))
	require.NoError(t, err)
	require.Zero(t, version, "each prefix has its own")
}

func TestLayoutOfANewerProgram(t *testing.T) {
	t.Parallel()
	for _, newer := range []string{"3", "1.1", "two"} {
		server, client := redistest.Embedded(t)
		server.HSet("sl:meta", "layout", newer)
		_, err := present.Read(t.Context(), client, keyspace.KeysUnder(""))
		for _, err := range []error{err, present.Check(t.Context(), client, keyspace.KeysUnder(""))} {
			require.EqualError(t, err, `the store has layout "`+newer+`", this program knows up to 2: use the newer program, or another prefix`)
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
	_, err := present.Read(t.Context(), client, keyspace.KeysUnder(""))
	for _, err := range []error{err, present.Check(t.Context(), client, keyspace.KeysUnder(""))} {
		require.ErrorContains(t, err, "Redis is still loading its data: try again in a moment")
	}
}

// Data of an older program is read, but nothing is written to it.
func TestLayoutOfAnOlderProgram(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.HSet("sl:meta", "layout", "1")
	version, err := present.Read(t.Context(), client, keyspace.KeysUnder(""))
	require.NoError(t, err)
	require.Equal(t, store.Layout(1), version)
	err = present.Check(t.Context(), client, keyspace.KeysUnder(""))
	require.EqualError(t, err, "the store has layout 1, this program needs 2: start a worker of this version, which raises it")
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	require.Equal(t, "1", server.HGet("sl:meta", "layout"))

	for range 2 {
		require.NoError(t, present.Raise(t.Context(), client, keyspace.KeysUnder("")))
		require.NoError(t, present.Check(t.Context(), client, keyspace.KeysUnder("")))
		require.Equal(t, "2", server.HGet("sl:meta", "layout"))
	}
}

func TestALayoutIsNeverLowered(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.HSet("sl:meta", "layout", "3")
	require.ErrorContains(t, present.Raise(t.Context(), client, keyspace.KeysUnder("")), "use the newer program")
	require.Equal(t, "3", server.HGet("sl:meta", "layout"))

	// A newer program raises it while this one is about to.
	server.HSet("sl:meta", "layout", "1")
	client.AddHook(redistest.Pipelines(beforeTransaction(func() { server.HSet("sl:meta", "layout", "3") }).onPipeline))
	require.ErrorAs(t, present.Raise(t.Context(), client, keyspace.KeysUnder("")), new(*fault.UnavailableError))
	require.Equal(t, "3", server.HGet("sl:meta", "layout"))
}

// beforeTransaction is called before a client sends a transaction.
type beforeTransaction func()

func (b beforeTransaction) onPipeline(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	if cmds[0].Name() == "multi" {
		b()
	}
	return next(ctx, cmds)
}
