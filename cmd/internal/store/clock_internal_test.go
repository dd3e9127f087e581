package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestTheClockIsReadOnTheQuickestWay(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	server := time.Unix(1_800_000_000, 0)
	m.SetTime(server)
	// The round trips take 400, 20 and 100 ms; the store's clock is at server
	// throughout.
	local := server.Add(-time.Minute)
	steps := []int{0, 400, 0, 20, 0, 100}
	offset, err := clockOffset(t.Context(), client, func() time.Time {
		local = local.Add(time.Duration(steps[0]) * time.Millisecond)
		steps = steps[1:]
		return local
	})
	require.NoError(t, err)
	require.Equal(t, time.Minute-410*time.Millisecond, offset)
	require.Empty(t, steps)
}

func TestClockAheadIsToldAboveTwoSeconds(t *testing.T) {
	t.Parallel()
	require.Empty(t, ClockAhead(ClocksDiffer))
	require.Equal(t, "the clock of Redis is 2m0s behind that of this machine, and messages are sent by it: set the wrong one right", ClockAhead(-2*time.Minute))
	require.Contains(t, ClockAhead(time.Hour), "1h0m0s ahead of that of this machine")
}
