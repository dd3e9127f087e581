package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// Alerts to contacts are as documented, and contain nothing else.
func TestNoticesAreAsDocumented(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	c := readContract(newRig(t))
	posted := notifiertest.Notices()
	for _, kind := range notifier.NoticeKinds() {
		posted[string(kind)], _ = email.Sample(kind, "")
	}
	for name, n := range posted {
		require.NoError(t, c.posts(t, "notice", n), name)
	}
	require.Error(t, c.posts(t, "notice", map[string]any{"id": "x", "kind": "y", "subject": "z", "stranger": "is not documented"}))
}

// posts returns the errors of a posted request by the schema of a webhook.
func (c *contract) posts(t *testing.T, webhook string, posted any) error {
	t.Helper()
	schema, err := c.compiler.Compile(contractURL + "#/webhooks/" + webhook + "/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	text, err := json.Marshal(posted)
	require.NoError(t, err)
	return c.valid(t, schema, string(text))
}

// Requests to push_url are as documented.
func TestDeliveriesAreAsDocumented(t *testing.T) {
	t.Parallel()
	c := readContract(newRig(t))
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	for _, n := range []notifier.Notification{
		{ID: "1", User: "alice", SendAt: at, Attempt: 1},
		{
			ID: "2", User: "bob", Category: "orders", Title: "t", Body: "b", Data: map[string]string{"a": "b"}, Campaign: "spring",
			Metadata: map[string]string{"c": "d"}, SendAt: at, RequestedAt: at.Add(-time.Hour), Attempt: 25,
		},
	} {
		require.NoError(t, c.posts(t, "delivery", notifier.NewPayload(n)))
	}
	require.Error(t, c.posts(t, "delivery", map[string]any{"id": "1", "user": "alice"}))
}
