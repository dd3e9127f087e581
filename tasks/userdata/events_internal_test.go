package userdata

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
)

// Metadata is opaque to the library, and its events are among those of a user.
func TestAnEventIsExportedWhateverItsMetadata(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(eventsOf([]events.Event{
		{Type: events.Moved, MessageID: "a", Metadata: []byte("no JSON")},
		{Type: events.Moved, MessageID: "b", Metadata: []byte(`{"order":"17"}`)},
	}))
	require.NoError(t, err)
	var exported []Event
	require.NoError(t, json.Unmarshal(text, &exported))
	require.Empty(t, exported[0].Metadata)
	require.Equal(t, map[string]string{"order": "17"}, exported[1].Metadata)
}
