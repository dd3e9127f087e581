package notifier_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

func TestPayload(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3600)
	at := time.Date(2026, time.November, 22, 12, 11, 11, 7_999_999, berlin)
	for _, row := range []struct {
		name string
		n    notifier.Notification
		want string
	}{
		{
			"everything",
			notifier.Notification{
				ID: "order-17", User: "alice", Category: "orders", Title: "Shipped", Body: "It is on its way.",
				Data:  map[string]string{"order": "17", "colour": "red"},
				Image: "https://example.com/a.png", ClickURL: "myapp://orders/17", Badge: new(0), Sound: "ding",
				Priority: notifier.PriorityHigh, CollapseKey: "orders", Override: json.RawMessage(`{"not":"part of it"}`),
				Campaign: "spring", Metadata: map[string]string{"source": "shop"},
				SendAt: at, RequestedAt: at.Add(-time.Minute), Attempt: 2, IdempotencyKey: "not part of it",
			},
			`{"id":"order-17","user":"alice","category":"orders","title":"Shipped","body":"It is on its way.",` +
				`"data":{"colour":"red","order":"17"},"image":"https://example.com/a.png","click_url":"myapp://orders/17","badge":0,` +
				`"sound":"ding","priority":"high","collapse_key":"orders","campaign":"spring","metadata":{"source":"shop"},` +
				`"send_at":"2026-11-22T11:11:11.007Z","requested_at":"2026-11-22T11:10:11.007Z","attempt":2}`,
		},
		{
			"the least there is",
			notifier.Notification{ID: "order-17", User: "alice", Title: "Shipped", SendAt: at.Truncate(time.Second), Attempt: 1},
			`{"id":"order-17","user":"alice","title":"Shipped","send_at":"2026-11-22T11:11:11.000Z","attempt":1}`,
		},
	} {
		got, err := json.Marshal(notifier.NewPayload(row.n))
		require.NoError(t, err)
		require.Equal(t, row.want, string(got), row.name)
	}
}

// A key that changed would let a message retried across an upgrade arrive twice.
func TestIdempotencyKeyIsFrozen(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2db787b16d38824e5514db4a9208d183", notifier.IdempotencyKey("", "alice", "order-17"), "no account, as before there were any")
	require.Equal(t, "f8a0f79d13d5a636d245e23bdd67b602", notifier.IdempotencyKey("acme", "alice", "order-17"))
}

func TestIdempotencyKeyTellsMessagesApart(t *testing.T) {
	t.Parallel()
	seen := make(map[string][3]string)
	for _, m := range [][3]string{
		{"", "alice", "1"},
		{"", "bob", "1"},
		{"", "alice", "2"},
		{"", "alice1", ""},
		{"", "", "alice1"},
		{"", "alic", "e1"},
		{"acme", "alice", "1"},
		{"beta", "alice", "1"},
		{"acme", "bob", "1"},
		{"acmealice", "", "1"},
		{"a", "cmealice", "1"},
	} {
		key := notifier.IdempotencyKey(m[0], m[1], m[2])
		require.Regexp(t, "^[0-9a-f]{32}$", key)
		require.NotContains(t, seen, key, "%v", m)
		seen[key] = m
	}
}
