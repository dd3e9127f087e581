package check

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
)

func TestTheLimitOfOpenFilesFitsTheSettings(t *testing.T) {
	t.Parallel()
	load := func(variables ...string) config.Config {
		t.Helper()
		c, err := config.Load(nil, append(variables, "REDIS_URL=redis://h", "SENDLIMIT_PUSH_URL=https://push.example.com"), "")
		require.NoError(t, err)
		return c
	}
	usual := openFiles(load())
	require.Equal(t, usual+400, openFiles(load("SENDLIMIT_DELIVERIES=464")))
	require.Less(t, openFiles(load("SENDLIMIT_LISTEN=off")), usual)
	require.Equal(t, usual-64, openFiles(load("SENDLIMIT_DELIVER=false")))

	require.Empty(t, looksAtFiles(load(), uint64(usual)))
	looks := looksAtFiles(load("SENDLIMIT_DELIVERIES=512"), 1024)
	require.Len(t, looks, 1)
	_, err := looks[0].try(t.Context())
	require.ErrorContains(t, err, "the process may have 1024: raise the limit (ulimit -n, or LimitNOFILE of systemd) to at least 15")
	require.Empty(t, looksAtFiles(load(), fileLimit()), "Go raises the limit of this process")
}
