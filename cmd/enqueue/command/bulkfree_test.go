package command

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Free times cost the store much. Without results nobody reads them.
func TestOnlyResultsNeedFreeTimes(t *testing.T) {
	t.Parallel()
	for results, without := range map[string]bool{"": true, "-": false, "outcomes.ndjson": false} {
		asked := bulkFlags{results: results}.asking(func(_ context.Context, m message.Message) (message.Outcome, error) {
			require.Equal(t, message.Message{ID: "a", WithoutFreeTimes: without}, m, results)
			return message.Outcome{ID: m.ID}, nil
		})
		o, err := asked(t.Context(), message.Message{ID: "a"})
		require.NoError(t, err)
		require.Equal(t, "a", o.ID)
	}
}
