package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
)

// Only a send time in the user's zone can follow it; anything else is one error.
func TestFollowZoneNeedsALocalTimeOfTheUser(t *testing.T) {
	t.Parallel()
	const needs = `follow_zone needs a send_at that is a local time in the user's zone, such as {"local":"2040-06-22T11:11","zone":"user"}`
	for _, row := range []struct{ times, want string }{
		{`"send_at":{"local":"2040-06-22T11:11"}`, ""},
		{`"send_at":{"local":"2040-06-22T11:11","zone":"user"},"expires_at":"2040-06-22T11:11:11Z"`, ""},
		{`"send_at":{"local":"2040-06-22T11:11","zone":"Europe/Berlin"}`, needs},
		{`"send_at":"2040-06-22T11:11:11Z"`, needs},
		{`"send_at":"2040-06-22T11:11:11Z","expires_at":{"local":"2040-06-22T11:12"}`, needs},
		{`"send_at":"now"`, needs},
		{`"window":{"until":{"local":"2040-06-22T11:11"}}`, "follow_zone has no meaning with a window: leave one out"},
		{`"send_at":{"local":"noon"}`, "send_at"}, // only that
	} {
		d, err := message.DecodeDraft([]byte(`{"user":"u","title":"t",` + row.times + `,"follow_zone":true}`))
		require.NoError(t, err)
		m, err := d.Message(message.ParseTime)
		if err == nil {
			err = m.Validate()
		}
		if row.want == "" {
			require.NoError(t, err, row.times)
			continue
		}
		require.ErrorContains(t, err, row.want)
		if row.want == "send_at" {
			require.NotContains(t, err.Error(), "follow_zone")
		}
	}
}
