package seal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/seal"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Every process of a store opens what another one sealed, and nobody else reads or makes it.
func TestSealedTexts(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	now := time.Unix(0, 0)
	sealer := func() seal.Sealer {
		keeper := seal.NewKeeper(client, keyspace.KeysUnder(""))
		s, err := keeper.Sealer(t.Context(), now)
		require.NoError(t, err)
		again, err := keeper.Sealer(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, s, again)
		return s
	}
	one, other := sealer(), sealer()
	sealed := one.Seal("alice m1")
	require.Equal(t, sealed, other.Seal("alice m1"))
	require.NotEqual(t, sealed[:16], one.Seal("alice m2")[:16])
	text, ok := other.Open(sealed)
	require.True(t, ok)
	require.Equal(t, "alice m1", text)
	require.Empty(t, one.Seal(""))
	first := "A"
	if sealed[0] == 'A' {
		first = "B"
	}
	for _, wrong := range []string{"", "x", "eyJ0IjoxLCJpIjoiYSJ9", sealed[:len(sealed)-1], sealed + "A", first + sealed[1:], sealed[:20] + "AAAA" + sealed[24:]} {
		_, ok = one.Open(wrong)
		require.False(t, ok, wrong)
	}
	server.FlushAll()
	_, ok = sealer().Open(sealed)
	require.False(t, ok, "of another store")
	server.SetError("ERR away")
	keeper := seal.NewKeeper(client, keyspace.KeysUnder(""))
	_, err := keeper.Sealer(t.Context(), now)
	require.Error(t, err)
}
