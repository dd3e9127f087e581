package store_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// A store is delivered under one address, part of which may change at a time.
func TestTakeAddress(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	last, err := store.ReadAddress(t.Context(), client, keyspace.KeysUnder(""))
	require.NoError(t, err)
	require.Empty(t, last)
	require.Empty(t, server.Keys(), "reading marks nothing")

	for _, row := range []struct {
		address, left store.Address // left is what the store has then
		moved, taken  bool
	}{
		{address: store.Address{"a"}, left: store.Address{"a"}, taken: true}, // a new store
		{address: store.Address{"a"}, left: store.Address{"a"}, taken: true},
		{address: store.Address{"b"}, left: store.Address{"a"}},
		{address: store.Address{"b", "c"}, left: store.Address{"a"}},
		{address: store.Address{"a", "b"}, left: store.Address{"a", "b"}, taken: true},
		{address: store.Address{"b", "c"}, left: store.Address{"b", "c"}, taken: true},
		{address: store.Address{"a"}, left: store.Address{"b", "c"}}, // it is gone from the list
		{address: store.Address{"a"}, left: store.Address{"a"}, moved: true, taken: true},
		{address: store.Address{"a"}, left: store.Address{"a"}, moved: true, taken: true},
		{address: store.Address{"c"}, left: store.Address{"a"}},
	} {
		former, taken, err := store.TakeAddress(t.Context(), client, keyspace.KeysUnder(""), row.address, row.moved)
		require.NoError(t, err)
		require.Equal(t, row.taken, taken, row)
		if !taken {
			require.Equal(t, row.left, former, row)
		}
		last, err := store.ReadAddress(t.Context(), client, keyspace.KeysUnder(""))
		require.NoError(t, err)
		require.Equal(t, row.left, last, row)
	}
	last, err = store.ReadAddress(t.Context(), client, keyspace.KeysUnder("other"))
	require.NoError(t, err)
	require.Empty(t, last, "each prefix has its own")
	require.Zero(t, server.TTL("sl:meta"))
}

// Of workers that start at the same time on a new store, only those with one address deliver.
func TestOneAddressIsTaken(t *testing.T) {
	t.Parallel()
	for range 20 {
		_, client := redistest.Embedded(t)
		var all sync.WaitGroup
		got, failed := make([]bool, 6), make([]error, 6)
		for n := range got {
			all.Go(func() {
				_, got[n], failed[n] = store.TakeAddress(t.Context(), client, keyspace.KeysUnder(""), store.Address{string(rune('a' + n%2))}, false)
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(failed...))
		require.Contains(t, [][]bool{slices.Repeat([]bool{true, false}, 3), slices.Repeat([]bool{false, true}, 3)}, got)
	}
}

func TestAnAddressThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetError("LOADING Redis is loading the dataset in memory")
	client.Options().MaxRetries = 0
	_, taken, err := store.TakeAddress(t.Context(), client, keyspace.KeysUnder(""), store.Address{"a"}, true)
	require.ErrorContains(t, err, "Redis is still loading its data: try again in a moment")
	require.False(t, taken)
}
