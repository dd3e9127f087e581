package turn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// One turn at a time, and the next one has the notes of the last, unless it is for another
// work.
func TestOneProgramAtATimeHasAJob(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	of := func(work string) *turn.Job {
		return turn.NewJob(client, keyspace.KeysUnder("sl").Turn(keyspace.CampaignWork("/spring")), work)
	}
	first, second := of("move 1h"), of("move 1h")
	notes, taken, _, err := first.Take(t.Context(), time.Minute)
	require.NoError(t, err)
	require.True(t, taken)
	require.Empty(t, notes)
	_, taken, wait, err := second.Take(t.Context(), time.Minute)
	require.NoError(t, err)
	require.False(t, taken)
	require.Positive(t, wait)
	kept, err := first.Keep(t.Context(), "half", 0)
	require.NoError(t, err)
	require.True(t, kept)
	notes, taken, _, err = second.Take(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, taken)
	require.Equal(t, "half", notes)
	kept, err = first.Keep(t.Context(), "all", time.Minute)
	require.NoError(t, err)
	require.False(t, kept, "somebody else has it")
	notes, taken, _, err = of("move 2h").Take(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, taken)
	require.Empty(t, notes)
}
