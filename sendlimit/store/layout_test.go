package store_test

import (
	"testing"

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
	for _, newer := range []string{"2", "1.1", "two"} {
		server, client := redistest.Embedded(t)
		server.HSet("sl:meta", "layout", newer)
		_, err := store.ReadLayout(t.Context(), client, "")
		for _, err := range []error{err, store.CheckLayout(t.Context(), client, "")} {
			require.EqualError(t, err, `the store has layout "`+newer+`", this program knows up to 1: use the newer program, or another prefix`)
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
