package campaigns_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/campaigns"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Only so many campaigns of an account are paused that a claim can get them all; those of others
// don't count. To pause one again is always allowed.
func TestMostPaused(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	p, err := campaigns.New(client, "")
	require.NoError(t, err)
	at := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	of := func(n int) campaigns.Campaign {
		return campaigns.Campaign{Account: "acme", Name: fmt.Sprintf("c%d", n)}
	}
	var paused []campaigns.Campaign
	for n := range campaigns.MostPaused {
		since, err := p.Pause(t.Context(), of(n), at)
		require.NoError(t, err)
		require.Equal(t, at, since)
		paused = append(paused, of(n))
	}
	_, err = p.Pause(t.Context(), of(campaigns.MostPaused), at)
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.EqualError(t, err, `campaign "c200" can't be paused: the account has 200 paused campaigns, which is the most; resume one first`)
	require.False(t, campaigns.SetOf(paused...).Large())
	other := campaigns.Campaign{Account: "acme-2", Name: "c200"}
	_, err = p.Pause(t.Context(), other, at)
	require.NoError(t, err)
	paused = append(paused, other)
	since, err := p.Pause(t.Context(), of(7), at.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, at, since)
	set, err := p.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, campaigns.SetOf(paused...), set)
	require.True(t, set.Large())
	require.Equal(t, campaigns.SetOf(other), set.Of("acme-2"))
	require.Zero(t, set.Of(""))

	for _, was := range []bool{true, false} {
		resumed, err := p.Resume(t.Context(), of(7))
		require.NoError(t, err)
		require.Equal(t, was, resumed)
	}
	since, err = p.Since(t.Context(), of(7))
	require.NoError(t, err)
	require.Zero(t, since)
	_, err = p.Pause(t.Context(), of(campaigns.MostPaused), at)
	require.NoError(t, err)
}

// One turn at a time, and the next one has the notes of the last, unless it is for another
// action.
func TestTurns(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	p, err := campaigns.New(client, "")
	require.NoError(t, err)
	turn := func(action string) *campaigns.Turn {
		turn, err := p.NewTurn(campaigns.Campaign{Name: "spring"}, action)
		require.NoError(t, err)
		return turn
	}
	first, second := turn("move 1h"), turn("move 1h")
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
	notes, taken, _, err = turn("move 2h").Take(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, taken)
	require.Empty(t, notes)
}
