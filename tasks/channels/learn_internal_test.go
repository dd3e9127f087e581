package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	stored "github.com/sendlimit/sendlimiter/sendlimit/channels"
)

// A channel that was stopped here is not resumed by what the store said before it was told.
func TestAStopIsKeptUntilTheStoreKnowsIt(t *testing.T) {
	t.Parallel()
	c, err := newChannel(Setup{Name: notifier.ChannelFCM, HasDevices: true})
	require.NoError(t, err)
	require.True(t, c.stop(stored.Stop{Reason: stored.Unauthorized}, time.Now()))
	_, _ = c.learn(stored.State{}, c.seen())
	require.True(t, c.State().Stopped)
	began := c.seen()
	c.told()
	_, _ = c.learn(stored.State{}, began)
	require.True(t, c.State().Stopped, "the look began before")
	before, _ := c.learn(stored.State{}, c.seen())
	require.True(t, before.Stopped)
	require.False(t, c.State().Stopped)
}
