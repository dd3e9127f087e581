package sendlimittest

import "testing"

// Long skips a test in short mode, as the run under the race detector is: one whose
// length is its point, or that only starts programs, shows a detector nothing that
// shorter ones do not, and takes many times as long under it.
func Long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and left out in short mode")
	}
}
