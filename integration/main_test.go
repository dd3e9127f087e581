package integration_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // silences the client library about every store that a test stops
	status := m.Run()
	if err := redistest.CloseShared(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// drawn draws one of n ways to play a test from the seed of the run.
func drawn(t *testing.T, n int) int {
	t.Helper()
	seeds := sendlimittest.Seeds(t, 2)
	return int(seeds[len(seeds)-1] % uint64(n))
}
