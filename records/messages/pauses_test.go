package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Only so many campaigns of an account are paused that a claim can get them all; those of others
// don't count. To pause one again is always allowed.
func TestMostPaused(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	p, err := messages.NewPauses(client, "")
	require.NoError(t, err)
	at := time.Date(2051, time.July, 12, 11, 11, 11, 0, time.UTC)
	of := func(n int) messages.Campaign {
		return messages.Campaign{Account: "acme", Name: fmt.Sprintf("c%d", n)}
	}
	var paused []messages.Campaign
	for n := range messages.MaxPaused {
		since, err := p.Pause(t.Context(), of(n), at)
		require.NoError(t, err)
		require.Equal(t, at, since)
		paused = append(paused, of(n))
	}
	_, err = p.Pause(t.Context(), of(messages.MaxPaused), at)
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.EqualError(t, err, `campaign "c200" can't be paused: the account has 200 paused campaigns, which is the most; resume one first`)
	require.False(t, messages.PausedOf(paused...).Large())
	other := messages.Campaign{Account: "acme-2", Name: "c200"}
	_, err = p.Pause(t.Context(), other, at)
	require.NoError(t, err)
	paused = append(paused, other)
	since, err := p.Pause(t.Context(), of(7), at.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, at, since)
	set, err := p.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, messages.PausedOf(paused...), set)
	require.True(t, set.Large())
	require.Equal(t, messages.PausedOf(other), set.Of("acme-2"))
	require.Zero(t, set.Of(""))

	for _, was := range []bool{true, false} {
		resumed, err := p.Resume(t.Context(), of(7))
		require.NoError(t, err)
		require.Equal(t, was, resumed)
	}
	since, err = p.Since(t.Context(), of(7))
	require.NoError(t, err)
	require.Zero(t, since)
	_, err = p.Pause(t.Context(), of(messages.MaxPaused), at)
	require.NoError(t, err)
}
