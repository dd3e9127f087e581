package channelcheck_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/channelcheck"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
			field: "channels.webpush.urgency", error: `channels.webpush.urgency "soon" is not allowed: use very-low, low, normal or high`,
		},
		{name: "another channel's override", channel: "webpush", edit: func(m *message.Message) {
			m.Channels = map[string]json.RawMessage{"fcm": []byte(`{"urgency":"soon"}`)}
		}},
		{name: "the topic of an app", channel: "apns", edit: func(m *message.Message) {
			m.Channels = map[string]json.RawMessage{"apns": []byte(`{"topic":"com.example.driver.voip","push_type":"voip"}`)}
		}},
		{
			name: "another topic", channel: "apns", edit: func(m *message.Message) {
				m.Channels = map[string]json.RawMessage{"apns": []byte(`{"topic":"com.example.other"}`)}
			},
			field: "channels.apns.topic", error: `channels.apns.topic "com.example.other" is not allowed: use a bundle id that the channel is set up with`,
		},
		{
			name: "too large", channel: "webpush", edit: func(m *message.Message) {
				m.Now, m.SendAt = true, time.Time{}
				m.Body = strings.Repeat("b", 4000)
			},
			field: "message", error: `message "4116 bytes" is not allowed: use at most 3993 bytes as JSON in web push, with title, body, data, URLs and channels.webpush`,
		},
		{name: "an unknown channel", channel: "log", edit: func(m *message.Message) { m.Body = strings.Repeat("b", 4000) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := message.Message{ID: "order-17", User: "alice", SendAt: time.Now(), Title: "Shipped"}
			if row.edit != nil {
				row.edit(&m)
			}
			apps := config.APNs{Topic: "com.example.shop", Topics: map[string]string{"driver": "com.example.driver"}}
			err := channelcheck.New(config.Config{APNs: apps}).Message(row.channel, m)
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

// A program that does not know how a channel is set up refuses nothing.
func TestDevice(t *testing.T) {
	t.Parallel()
	subscription := func(endpoint string) string {
		return `{"endpoint":"` + endpoint + `","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`
	}
	set := config.WebPush{PrivateKeyFile: "vapid.key"}
	for _, row := range []struct {
		settings config.WebPush
		endpoint string
		allowed  bool
	}{
		{config.WebPush{}, "https://push.example.net/x", true},
		{set, "https://push.example.net/x", false},
		{set, "https://fcm.googleapis.com/v1/projects/x", false},
		{set, "https://fcm.googleapis.com/wp/x", true},
		{config.WebPush{Hosts: []string{"push.example.net"}}, "https://push.example.net/x", true},
	} {
		err := channelcheck.New(config.Config{WebPush: row.settings}).Device("webpush", subscription(row.endpoint))
		require.Equal(t, row.allowed, err == nil, "%+v: %v", row, err)
	}
	require.NoError(t, channelcheck.New(config.Config{WebPush: set}).Device("fcm", "token"))
}

// Every channel to devices is checked without credentials.
func TestCheckOfEveryChannelToDevices(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{notifier.ChannelFCM, notifier.ChannelAPNs, notifier.ChannelWebPush} {
		m := message.Message{ID: "order-17", User: "alice", Title: "Shipped", SendAt: time.Now()}
		check := func() error { return channelcheck.New(config.Config{}).Message(channel, m) }
		require.NoError(t, check(), channel)
		override := map[bool]string{true: `{"token":"x"}`, false: `{"nosuch":1}`}[channel == notifier.ChannelFCM]
		m.Channels = map[string]json.RawMessage{channel: []byte(override)}
		var invalid *fault.InvalidError
		require.ErrorAs(t, check(), &invalid, channel)
		require.Contains(t, invalid.Field, "channels."+channel)
		m.Channels, m.Body = nil, strings.Repeat("b", 5000)
		require.ErrorAs(t, check(), &invalid, channel)
		require.Equal(t, "message", invalid.Field)
	}
}
