package queue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func goldenPayload(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.TrimSuffix(string(text), "\n")
}

func TestPayloadV1IsReadForEver(t *testing.T) {
	t.Parallel()
	text := goldenPayload(t, "push_deliver.v1.json")
	want := Payload{
		Version: 1, User: "alice <a&b>/ü:{p}", ID: "order:17", Generation: "Jz0k-3_9aQpL", Due: 1795345871123,
	}
	got, err := decodePayload([]byte(text))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, time.Date(2026, time.November, 22, 11, 11, 11, 123e6, time.UTC), got.DueAt())

	// A newer program of the same version may say more.
	got, err = decodePayload([]byte(strings.Replace(text, `"v":1`, `"v":1,"queue":"2","hints":{"a":[1]}`, 1)))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Every type and version of task that is written has its golden file, and the
// type is spelled as ever.
func TestPayloadThatIsWritten(t *testing.T) {
	t.Parallel()
	require.Equal(t, "push:deliver", TypeDeliver)
	require.Equal(t, 1, PayloadVersion, "a new version needs a golden file and a decoder for the old one")
	require.Equal(t, "sl:push", Name(""))
	require.Equal(t, "test-2:push", Name("test-2"))
	written, err := json.Marshal(Payload{
		Version: PayloadVersion, User: "alice <a&b>/ü:{p}", ID: "order:17", Generation: "Jz0k-3_9aQpL", Due: 1795345871123,
	})
	require.NoError(t, err)
	require.JSONEq(t, goldenPayload(t, "push_deliver.v1.json"), string(written))
}

// Of a newer version only that it is one is read: all else may have changed.
func TestPayloadOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"v":2}`, `{"v":2,"user":7,"due":"soon"}`} {
		p, err := decodePayload([]byte(text))
		require.NoError(t, err)
		require.Equal(t, Payload{Version: 2}, p)
	}
}

func TestPayloadThatIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", "[]", "7", "null", "{}", `{"v":0}`, `{"v":-1}`, `{"v":"1"}`, `{"v":1.5}`, `{"v":1e99}`,
		`{"v":1,"user":7}`, `{"v":1,"due":"x"}`,
	} {
		_, err := decodePayload([]byte(text))
		require.ErrorContains(t, err, "payload of a task", text)
	}
}

// Every file in testdata is held by a test above.
func TestGoldenFilesAreAllHeld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Equal(t, []string{"testdata/push_deliver.v1.json"}, files)
}
