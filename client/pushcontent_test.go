package client_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestPushContentIsSentChangedAndShown(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	m := client.Message{
		ID: "a", User: "alice", SendAt: at("2026-11-22T12:00:00Z"), Title: "Hi",
		Image: "https://example.com/a.png", ClickURL: "myapp://orders/17", Badge: new(0), Sound: "ding", Priority: client.PriorityHigh,
		CollapseKey: "orders", Channels: map[string]json.RawMessage{"apns": []byte(`{"a":1,"b":2}`), "fcm": []byte(`{}`)},
		To: &client.Target{App: "shop"},
	}
	_, err := a.Submit(t.Context(), m)
	require.NoError(t, err)
	status, err := a.Message(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.Equal(t, m.Image, status.Image)
	require.Equal(t, m.ClickURL, status.ClickURL)
	require.Equal(t, m.Badge, status.Badge)
	require.Equal(t, m.Sound, status.Sound)
	require.Equal(t, m.Priority, status.Priority)
	require.Equal(t, m.CollapseKey, status.CollapseKey)
	require.Equal(t, m.Channels, status.Channels)
	require.Equal(t, m.To, status.To)

	none, normal := "", client.PriorityNormal
	_, err = a.Change(t.Context(), "alice", "a", client.MessageChange{
		Image: &none, ClickURL: &none, ClearBadge: true, Sound: &none, Priority: &normal, CollapseKey: &none,
		Channels: map[string]json.RawMessage{"apns": []byte(`{"a":null}`), "fcm": nil}, To: map[string]*string{"channel": new("apns"), "app": nil},
	})
	require.NoError(t, err)
	status, err = a.Message(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.Equal(t, client.PriorityNormal, status.Priority)
	require.Equal(t, map[string]json.RawMessage{"apns": []byte(`{"b":2}`)}, status.Channels)
	require.Equal(t, &client.Target{Channel: "apns"}, status.To)
	require.Empty(t, status.Image+status.ClickURL+status.Sound+status.CollapseKey)
	require.Nil(t, status.Badge)

	_, err = a.Change(t.Context(), "alice", "a", client.MessageChange{ClearChannels: true, Badge: new(7), ClearTo: true})
	require.NoError(t, err)
	status, err = a.Message(t.Context(), "alice", "a")
	require.NoError(t, err)
	require.Empty(t, status.Channels)
	require.Nil(t, status.To)
	require.Equal(t, 7, *status.Badge)

	_, err = a.Submit(t.Context(), client.Message{ID: "b", User: "bob", Now: true, Title: "Hi", ClickURL: "javascript:alert(1)"})
	var wrong *client.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "click_url", wrong.Field)
}
