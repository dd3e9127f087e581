package sendlimittest

import "testing"

// Long skips a test in short mode, which is how all tests run under the race
// detector. Call it first in a test that takes long or starts programs: under
// the detector it would take several times as long, and find nothing that
// shorter tests do not. Long tests run without the detector.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() { //nolint:forbidigo // the one place
		tb.Skip("long, and left out in short mode")
	}
}
