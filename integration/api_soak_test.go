package integration_test

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// apiSoakEnv is how many requests the clients make; the default is apiSoakDefault.
	apiSoakEnv     = "SENDLIMIT_TEST_API_SOAK"
	apiSoakDefault = 9000
	apiSoakClients = 64
	// apiSoakGrowth is how many bytes the worker's memory may grow by a request after it has
	// what it needs, beside apiSoakNoise: 300,000 requests of the soak show a growth of 50.
	apiSoakGrowth = 20
	apiSoakNoise  = 8 << 20
)

// Sixty-four connections are served without an error, and the worker's memory does not
// grow with the number of requests.
func TestAPISoak(t *testing.T) {
	t.Parallel()
	requests := int64(apiSoakDefault)
	if text := os.Getenv(apiSoakEnv); text != "" {
		var err error
		requests, err = strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
	}
	a := startAPI(t, buildPrograms(t), "GOGC=20") // so that garbage is a small part of the memory
	// In the first third, buffers and pools reach their size.
	a.requests(t, requests/3)
	early := a.memory(t)
	late := a.memory(t)
	for i := range 10 { // what grows with the requests stays; a peak between two collections does not
		a.requests(t, requests/15)
		if now := a.memory(t); i == 7 || now < late {
			late = now
		}
	}
	t.Logf("%d requests; memory %d kB, then at least %d kB", requests, early>>10, late>>10)
	require.Less(t, int64(late)-int64(early), apiSoakNoise+apiSoakGrowth*requests)
	require.NotContains(t, a.stderr.String(), `"level":"ERROR"`)
	require.Zero(t, a.end(t))
}

// requests makes a number of requests with all clients.
func (a *apiProcess) requests(t *testing.T, n int64) {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	a.normalClients(ctx, t, apiSoakClients, func(accepted int64) {
		if accepted >= n {
			enough()
		}
	})()
}
