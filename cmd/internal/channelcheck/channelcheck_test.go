package channelcheck_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/channelcheck"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, channel string
		edit          func(m *message.Message)
		field, error  string
	}{
		{name: "a plain message", channel: "webpush"},
		{name: "an override", channel: "webpush", edit: func(m *message.Message) {
			m.Channels = map[string]json.RawMessage{"webpush": []byte(`{"urgency":"low"}`)}
		}},
		{
			name: "a wrong override", channel: "webpush", edit: func(m *message.Message) {
				m.Channels = map[string]json.RawMessage{"webpush": []byte(`{"urgency":"soon"}`)}
			},
			field: "channels.webpush.urgency", error: `channels.webpush.urgency "soon" is not allowed: it takes very-low, low, normal or high`,
		},
		{name: "another channel's override", channel: "webpush", edit: func(m *message.Message) {
			m.Channels = map[string]json.RawMessage{"fcm": []byte(`{"urgency":"soon"}`)}
		}},
		{
			name: "too large", channel: "webpush", edit: func(m *message.Message) {
				m.Now, m.SendAt = true, time.Time{}
				m.Body = strings.Repeat("b", 4000)
			},
			field: "message", error: `message "4116 bytes" is not allowed: it takes at most 3993 bytes as JSON in web push, with title, body, data, URLs and channels.webpush`,
		},
		{name: "an unknown channel", channel: "log", edit: func(m *message.Message) { m.Body = strings.Repeat("b", 4000) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := message.Message{ID: "order-17", User: "alice", SendAt: time.Now(), Title: "Shipped"}
			if row.edit != nil {
				row.edit(&m)
			}
			err := channelcheck.Check(row.channel, m)
			if row.error == "" {
				require.NoError(t, err)
				return
			}
			var invalid *fault.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, row.field, invalid.Field)
			require.EqualError(t, err, row.error)
		})
	}
}
