package precheck_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/precheck"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	n := notifier.Notification{ID: "order-17", User: "alice", Title: "Shipped"}
	require.NoError(t, precheck.Setup{}.Check("webpush", n, time.Now()))
	n.Override = []byte(`{"urgency":"soon"}`)
	var invalid *notifier.InvalidError
	require.ErrorAs(t, precheck.Setup{}.Check("webpush", n, time.Now()), &invalid)
	require.Equal(t, "channels.webpush.urgency", invalid.Field)
	require.NoError(t, precheck.Setup{}.Check("log", n, time.Now()), "it has no bounds of its own")
	n.Override, n.Body = nil, strings.Repeat("b", 4000)
	require.ErrorAs(t, precheck.Setup{}.Check("webpush", n, time.Now()), &invalid)
	require.Equal(t, "message", invalid.Field)
}

// Every channel to devices is checked without credentials.
func TestCheckOfEveryChannelToDevices(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{notifier.ChannelFCM, notifier.ChannelAPNs, notifier.ChannelWebPush} {
		n := notifier.Notification{ID: "order-17", User: "alice", Title: "Shipped"}
		require.NoError(t, precheck.Setup{}.Check(channel, n, time.Now()), channel)
		n.Override = []byte(map[bool]string{true: `{"token":"x"}`, false: `{"nosuch":1}`}[channel == notifier.ChannelFCM])
		var invalid *notifier.InvalidError
		require.ErrorAs(t, precheck.Setup{}.Check(channel, n, time.Now()), &invalid, channel)
		require.Contains(t, invalid.Field, "channels."+channel)
		n.Override, n.Body = nil, strings.Repeat("b", 5000)
		require.ErrorAs(t, precheck.Setup{}.Check(channel, n, time.Now()), &invalid, channel)
		require.Equal(t, "message", invalid.Field)
	}
}
