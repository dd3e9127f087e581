package userdata_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// What is printed an entry at a time is what an encoder makes of the whole document.
func TestADocumentIsPrintedAsJSON(t *testing.T) {
	t.Parallel()
	whole := filled(t)
	whole.Settings = map[string]string{"contact": "<a&b>", "policy": "vip"}
	run := filled(t)
	whole.DryRuns = []userdata.Document{run, {}}
	for name, d := range map[string]userdata.Document{
		"whole": whole, "zero": {},
		"small": {User: "alice", Timeline: []message.Conflict{}, Messages: []userdata.Message{}},
	} {
		var want, got bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		require.NoError(t, encoder.Encode(d))
		require.NoError(t, d.Print(&got))
		require.Equal(t, want.String(), got.String(), name)
	}
	require.ErrorIs(t, whole.Print(closed{}), errClosed)
}

var errClosed = errors.New("closed")

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errClosed }
