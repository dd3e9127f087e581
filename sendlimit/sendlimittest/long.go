package sendlimittest

import "testing"

// Long skips a test in short mode. Call it first in a test that takes long or starts
// programs. Long tests run without the race detector.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() { //nolint:names // one of two places
		tb.Skip("long, and left out in short mode")
	}
}

// LongUnderRace skips a test in short mode if the race detector is there, under which it
// takes some six times as long. Call it first in a test that takes more than a second there,
// and does nothing side by side that shorter tests do not.
func LongUnderRace(tb testing.TB) {
	tb.Helper()
	if raceDetector && testing.Short() { //nolint:names // one of two places
		tb.Skip("long under the race detector, and left out in short mode")
	}
}
