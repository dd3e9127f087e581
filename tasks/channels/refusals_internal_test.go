package channels

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

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
