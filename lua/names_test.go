package lua_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
)

func TestEveryScriptHasAName(t *testing.T) {
	t.Parallel()
	names := lua.NamesByHash()
	require.Len(t, names, len(lua.All()))
	for _, script := range lua.All() {
		require.NotEmpty(t, names[script.Hash()])
	}
	require.Equal(t, "place/reserve", names[lua.Reserve.Hash()])
	require.Equal(t, "place/next_free", names[lua.NextFree.Hash()])
}
