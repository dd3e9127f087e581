package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
)

func TestPaceIsRejected(t *testing.T) {
	t.Parallel()
	const rate = "a rate such as 100/second, 6000/minute or 20/500ms: 1 to 100000, in 1ms to 31 days"
	for want, environ := range map[string][]string{
		`pace.rate "fast" is not allowed: use ` + rate + ` (given by SENDLIMIT_PACE_RATE)`: {"SENDLIMIT_PACE_RATE=fast"},
		`pace.burst "0" is not allowed: use a whole number from 1 to 100000 (given by SENDLIMIT_PACE_BURST)`: {
			"SENDLIMIT_PACE_BURST=0",
		},
		"pace.burst needs a pace.rate": {"SENDLIMIT_PACE_BURST=6"},
		"pace.burst, 6, is more than pace.rate allows, 5/second": {
			"SENDLIMIT_PACE_BURST=6", "SENDLIMIT_PACE_RATE=5/second",
		},
	} {
		_, err := config.Load(nil, environ, "", config.BurstHasRate)
		require.EqualError(t, err, want)
	}
	c, err := config.Load(nil, []string{"SENDLIMIT_PACE_BURST=5", "SENDLIMIT_PACE_RATE=5/second"}, "", config.BurstHasRate)
	require.NoError(t, err)
	require.Equal(t, "5/second, at most 5 at once", c.Pace.String())
}
