package messages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

func TestProgressIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	p := messages.Progress{
		{Device: "tablet", State: messages.DeviceGone},
		{Device: "phone", State: messages.DeviceDelivered},
		{Device: "watch", State: messages.DeviceUncertain},
		{Device: "old", State: messages.DeviceFailed},
	}
	text := p.Encode()
	require.Equal(t, "dphone gtablet fold uwatch", text, "a script looks at the first letter only")
	require.ElementsMatch(t, p, messages.ParseProgress(text))
	require.True(t, p.Delivered())
	require.True(t, p.Done("tablet"))
	require.False(t, p.Done("table"))
	require.False(t, messages.ParseProgress("gtablet").Delivered())
	require.Empty(t, messages.ParseProgress(""))
	require.Empty(t, messages.ParseProgress("d xphone"))
}
