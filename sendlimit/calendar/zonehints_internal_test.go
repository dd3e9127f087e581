package calendar

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each zone of Windows has an IANA zone that exists.
func TestWindowsZones(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(windowsZones) {
		windows, iana, _ := strings.Cut(strings.TrimSpace(line), "=")
		require.True(t, isZone(iana), line)
		require.False(t, isZone(windows), line)
	}
}
