package sendlimittest

import "testing"

// Long skips a test in short mode. Call it first in a test that takes long or starts
// programs. Long tests run without the race detector.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() { //nolint:names // the one place
		tb.Skip("long, and left out in short mode")
	}
}
