package integration_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// apiSoakEnv is how long the clients run; the default is apiSoakDefault.
	apiSoakEnv     = "SENDLIMIT_TEST_API_SOAK"
	apiSoakDefault = 8 * time.Second
	apiSoakClients = 64
	// apiSoakGrowth is how many bytes the worker's memory may grow after it has what it
	// needs. A minute has 300,000 requests, so less than 100 bytes each are kept.
	apiSoakGrowth = 16 << 20
)

// Sixty-four connections are served without an error, and the worker's memory does not
// grow with the number of requests.
func TestAPISoak(t *testing.T) {
	lasts := apiSoakDefault
	if text := os.Getenv(apiSoakEnv); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	a := startAPI(t, buildPrograms(t))
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	wait := a.normalClients(ctx, t, apiSoakClients)

	// In the first third, buffers and pools reach their size.
	time.Sleep(lasts / 3)
	early := a.memory(t)
	most := early
	for ctx.Err() == nil {
		time.Sleep(lasts / 30)
		most = max(most, a.memory(t))
	}
	accepted := wait()
	t.Logf("%d requests, %.0f a second; memory %d MB, at most %d MB", accepted, float64(accepted)/lasts.Seconds(), early>>20, most>>20)
	require.Less(t, most-early, apiSoakGrowth)
	require.NotContains(t, a.stderr.String(), `"level":"ERROR"`)
	require.Zero(t, a.end(t))
}
