package callbacks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/events"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
)

// An event tells the reason in the words of the status.
func TestTheReasonOfAnEvent(t *testing.T) {
	t.Parallel()
	for stored, told := range map[string]string{
		"late 1 60000":        "late: 1/minute was in the way",
		"late 2 -3 marketing": "late: marketing 2/calendar_day was in the way",
		"late quiet":          "late: quiet hours were in the way",
		"late":                "late",
		"no_free_time":        "no_free_time",
		"":                    "",
	} {
		require.Equal(t, told, callbacks.EventOf("acme", events.Event{Type: events.Postponed, Reason: stored}).Data.Reason)
	}
}
