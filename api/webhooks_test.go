package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// What is posted to contacts is as the document says, and nothing else is in it.
func TestNoticesAreAsDocumented(t *testing.T) {
	sendlimittest.LongUnderRace(t)
	t.Parallel()
	c := readContract(newRig(t))
	schema, err := c.compiler.Compile(contractURL + "#/webhooks/notice/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	posted := notifiertest.Notices()
	for _, kind := range notifier.NoticeKinds() {
		posted[string(kind)], _ = email.Sample(kind, "")
	}
	for name, n := range posted {
		text, err := json.Marshal(n)
		require.NoError(t, err)
		var body any
		require.NoError(t, json.Unmarshal(text, &body))
		require.NoError(t, schema.Validate(body), name)
	}
	require.Error(t, schema.Validate(map[string]any{"id": "x", "kind": "y", "subject": "z", "stranger": "is not documented"}))
}
