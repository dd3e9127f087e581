package channels

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	t.Run("nothing is believed before the first success", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(judgesFrom - maxOfUser) {
			require.Equal(t, Hold, gone(&b, n, false), n)
		}
		for range 200 {
			require.Equal(t, Hold, gone(&b, 7, false), "the same device counts once")
		}
		for n := range uint64(200) {
			require.Equal(t, Hold, b.gone(2000+n, Sent{User: "0"}, false, time.Now()), "a user counts as five")
		}
		require.Equal(t, Trip, gone(&b, 1000, false))
		require.Equal(t, Trip, gone(&b, 1001, false))
		b.reset()
		require.Equal(t, Hold, gone(&b, 1, false))
	})
	t.Run("more than a fifth are kept", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(ringSize) {
			b.note(n, n == 0)
		}
		for n := range uint64(ringSize * maxGone / 100) {
			require.Equal(t, Remove, gone(&b, 1000+n, false), n)
		}
		require.Nil(t, b.wave(time.Now()))
		require.Equal(t, Keep, gone(&b, 2000, true))
		wave := b.wave(time.Now())
		require.Equal(t, []int{21, 100, 21, 21}, []int{wave.Gone, wave.Of, wave.Accounts["shop"], wave.Campaigns["spring"]})
		for n := range uint64(ringSize) { // the ring forgets
			b.note(n, true)
		}
		require.Equal(t, Remove, gone(&b, 2001, true))
	})
	t.Run("few answers are believed once it is proved", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(judgesFrom - 1) {
			require.Equal(t, Remove, gone(&b, n, true))
		}
		require.Equal(t, Keep, gone(&b, 1000, true))
	})
}

// gone notes a device of a user of its own.
func gone(b *brake, device uint64, proved bool) Judgement {
	return b.gone(device, Sent{Account: "shop", Campaign: "spring", User: strconv.FormatUint(device, 10)}, proved, time.Now())
}

// What one account's messages earn stops no other account's.
func TestWhoseRefusalsStopAChannel(t *testing.T) {
	t.Parallel()
	began := time.Now()
	of := func(account string, user int) Sent { return Sent{Account: account, User: strconv.Itoa(user), ID: "m"} }
	refuse := func(c *Channel, m Sent, after time.Duration) Refusal {
		c.Sends(m, began.Add(after))
		return c.Refused(m, began.Add(after))
	}
	credentials := &account{project: "shop"}
	fresh := func() *Channel {
		c, err := newChannel(Setup{Name: notifier.ChannelWebhook, Notifier: credentials})
		require.NoError(t, err)
		return c
	}

	c := fresh()
	for n := range 9 { // of two users, however often
		require.Equal(t, Refusal{Times: n/2 + 1}, refuse(c, of("a", n%2), time.Duration(n)*time.Second))
	}
	require.True(t, refuse(c, of("a", 2), 9*time.Second).Stop, "nobody else sends")
	require.True(t, c.stop(Stop{Reason: Unauthorized, Identity: "shop"}, began))
	require.False(t, c.spares(of("a", 7)))
	require.True(t, c.spares(of("b", 7)))
	refuse(c, of("b", 7), 10*time.Second)
	require.False(t, c.spares(of("b", 8)), "its own was refused, too")

	c = fresh()
	c.Sends(of("b", 9), began)
	for n := range 9 {
		require.False(t, refuse(c, of("a", n), time.Duration(n)*time.Second).Stop, "another account sent a moment ago")
	}
	require.True(t, refuse(c, of("b", 9), 9*time.Second).Stop)
	c.Accepted("", began.Add(10*time.Second))
	require.Equal(t, Refusal{Own: true, Times: 1}, refuse(c, of("a", 1), 11*time.Second), "it is its own fault")
	require.Equal(t, Refusal{Times: 2}, refuse(c, of("a", 1), 12*time.Second), "nobody knows")
	credentials.project = "another"
	require.Equal(t, Refusal{Times: 1}, refuse(c, of("a", 1), 13*time.Second), "other credentials, another story")
}

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
