package turn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Of many who ask, one gets the turn of a work, until its time is over by the store's clock.
func TestOneOfManyHasATurn(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	turns := []*turn.Turns{turn.New(client, keyspace.KeysUnder("")), turn.New(client, keyspace.KeysUnder(""))}
	for i, row := range []struct {
		clock string
		mine  bool
	}{
		{"12:00", true},
		{"12:00", false},
		{"12:00:59.999", false},
		{"12:01", true},
		{"12:01:30", false},
		{"11:59", true}, // a turn that lasts longer was given before the clock was set back
	} {
		server.SetTime(story.At(row.clock))
		mine, err := turns[i%2].Take(t.Context(), keyspace.WorkFar, time.Minute)
		require.NoError(t, err)
		require.Equal(t, row.mine, mine, row.clock)
	}
	mine, err := turns[0].Take(t.Context(), keyspace.WorkIndex, time.Minute)
	require.NoError(t, err)
	require.True(t, mine, "of other work")
	require.Contains(t, server.Keys(), "sl:turn:far")
}

// Work that failed is for the next caller. Work that ended is done until its time is over.
func TestWorkInTurn(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	turns := turn.New(client, keyspace.KeysUnder(""))
	done := 0
	work := func(failed error) error {
		return turns.InTurn(t.Context(), keyspace.WorkPlaces, time.Hour, func() error { done++; return failed })
	}
	failed := errors.New("the store is away")
	require.ErrorIs(t, work(failed), failed)
	require.NoError(t, work(nil))
	require.NoError(t, work(nil))
	require.Equal(t, 2, done)
}

// Who repeats work leaves it to another one for less than the time between two runs, and does it where
// the turns can't be asked.
func TestWorkThatAnotherDoes(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	turns := turn.New(client, keyspace.KeysUnder(""))
	server.SetTime(story.At("12:00"))
	require.False(t, turns.Taken(t.Context(), keyspace.WorkEvents, time.Minute))
	require.True(t, turns.Taken(t.Context(), keyspace.WorkEvents, time.Minute))
	server.SetTime(story.At("12:00:42"))
	require.False(t, turns.Taken(t.Context(), keyspace.WorkEvents, time.Minute))
	server.SetError("ERR away")
	require.False(t, turns.Taken(t.Context(), keyspace.WorkEvents, time.Minute))
	_, err := turns.Take(t.Context(), keyspace.WorkEvents, time.Minute)
	require.Error(t, err)
}
