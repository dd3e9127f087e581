package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// What is posted to push_url is as the document says.
func TestDeliveriesAreAsDocumented(t *testing.T) {
	t.Parallel()
	c := readContract(newRig(t))
	schema, err := c.compiler.Compile(contractURL + "#/webhooks/delivery/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	for _, n := range []notifier.Notification{
		{ID: "1", User: "alice", SendAt: at, Attempt: 1},
		{
			ID: "2", User: "bob", Category: "orders", Title: "t", Body: "b", Data: map[string]string{"a": "b"}, Campaign: "spring",
			Metadata: map[string]string{"c": "d"}, SendAt: at, RequestedAt: at.Add(-time.Hour), Attempt: 25,
		},
	} {
		text, err := json.Marshal(notifier.NewPayload(n))
		require.NoError(t, err)
		var body any
		require.NoError(t, json.Unmarshal(text, &body))
		require.NoError(t, schema.Validate(body))
	}
	require.Error(t, schema.Validate(map[string]any{"id": "1", "user": "alice"}))
}
