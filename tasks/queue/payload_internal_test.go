package queue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

func goldenPayload(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.TrimSuffix(string(text), "\n")
}

func queuedAt(user, id, generation string, due int64) messages.Queued {
	return messages.Queued{User: user, ID: id, Generation: generation, Due: time.UnixMilli(due).UTC()}
}

// goldenTimers lists the timers in each golden file.
func goldenTimers() map[string][]messages.Queued {
	first := queuedAt("alice <a&b>/ü:{p}", "order:17", "Jz0k-3_9aQpL", 1795345871123)
	second := queuedAt("bob", "order:17", "9aQpLJz0k-3_", 1795345871223)
	return map[string][]messages.Queued{"push_deliver.v1.json": {first}, "push_deliver.v2.json": {first, second}}
}

func TestPayloadsAreReadForEver(t *testing.T) {
	t.Parallel()
	for name, want := range goldenTimers() {
		text := goldenPayload(t, name)
		got, newer, err := decodePayload([]byte(text))
		require.NoError(t, err)
		require.False(t, newer)
		require.Equal(t, want, got)

		// A newer program of the same version may say more.
		got, newer, err = decodePayload([]byte(strings.Replace(text, `,`, `,"queue":"2","hints":{"a":[1]},`, 1)))
		require.NoError(t, err)
		require.False(t, newer)
		require.Equal(t, want, got)
	}
}

// Every type and version of task that is written has its golden file, and the
// type is spelled as ever.
func TestPayloadThatIsWritten(t *testing.T) {
	t.Parallel()
	require.Equal(t, "push:deliver", TypeDeliver)
	require.Equal(t, 2, batchVersion, "a new version needs a golden file and a decoder for the old one")
	require.Equal(t, "sl:push", Name(""))
	require.Equal(t, "test-2:push", Name("test-2"))
	for name, batch := range goldenTimers() {
		written, err := json.Marshal(payloadFor(batch))
		require.NoError(t, err)
		require.JSONEq(t, goldenPayload(t, name), string(written))
	}
}

// Of a newer version only that it is one is read: all else may have changed.
func TestPayloadOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"v":3}`, `{"v":3,"user":7,"messages":"soon"}`} {
		timers, newer, err := decodePayload([]byte(text))
		require.NoError(t, err)
		require.True(t, newer)
		require.Empty(t, timers)
	}
}

func TestPayloadThatIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", "[]", "7", "null", "{}", `{"v":0}`, `{"v":-1}`, `{"v":"1"}`, `{"v":1.5}`, `{"v":1e99}`,
		`{"v":1,"user":7}`, `{"v":1,"due":"x"}`,
		`{"v":2}`, `{"v":2,"messages":[]}`, `{"v":2,"messages":{}}`, `{"v":2,"messages":[{"due":"x"}]}`,
	} {
		_, _, err := decodePayload([]byte(text))
		require.ErrorContains(t, err, "payload of a task", text)
	}
}

// Every file in testdata is held by a test above.
func TestGoldenFilesAreAllHeld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Equal(t, []string{"testdata/push_deliver.v1.json", "testdata/push_deliver.v2.json"}, files)
}
