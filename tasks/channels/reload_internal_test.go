package channels

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// account is a channel whose credentials can be replaced.
type account struct{ project string }

func (a *account) Notify(context.Context, notifier.Notification) notifier.Result {
	return notifier.Result{Status: notifier.Delivered}
}
func (a *account) Identity() string { return a.project }

// A wrong project makes a provider call every device gone. That the former one delivered is no
// reason to believe it.
func TestNothingIsBelievedAfterCredentialsWereReplaced(t *testing.T) {
	t.Parallel()
	credentials := &account{project: "shop"}
	c, err := newChannel(Setup{Name: notifier.ChannelFCM, Notifier: credentials, HasDevices: true})
	require.NoError(t, err)
	require.True(t, c.Accepted("phone", time.Now()))
	what, _ := c.Gone(Sent{User: "alice"}, "d1", "old phone", time.Now())
	require.Equal(t, Remove, what, "the provider is believed after a success")

	credentials.project = "another"
	for n := range judgesFrom - 1 {
		what, wait := c.Gone(Sent{User: strconv.Itoa(n)}, "d1", "phone "+strconv.Itoa(n), time.Now())
		require.Equal(t, heldFor, wait)
		require.Equal(t, Hold, what)
	}
	what, _ = c.Gone(Sent{User: "alice"}, "d1", "one phone more", time.Now())
	require.Equal(t, Trip, what)
}

// A channel that was stopped here is not resumed by what the store said before it was told.
func TestAStopIsKeptUntilTheStoreKnowsIt(t *testing.T) {
	t.Parallel()
	c, err := newChannel(Setup{Name: notifier.ChannelFCM, HasDevices: true})
	require.NoError(t, err)
	require.True(t, c.stop(Stop{Reason: Unauthorized}, time.Now()))
	_, _ = c.learn(State{}, c.seen())
	require.True(t, c.State().Stopped)
	began := c.seen()
	c.told()
	_, _ = c.learn(State{}, began)
	require.True(t, c.State().Stopped, "the look began before")
	before, _ := c.learn(State{}, c.seen())
	require.True(t, before.Stopped)
	require.False(t, c.State().Stopped)
}
