package dashboard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Only what needs somebody is listed, the most urgent first.
func TestWhatNeedsSomebody(t *testing.T) {
	t.Parallel()
	o := &overview.Overview{Workers: make([]queue.ServerInfo, 1), Horizon: 2 * time.Minute, Behind: time.Minute, Memory: []message.StoreMemory{{UsedBytes: 90, MaxBytes: 100}, {UsedBytes: 90}}}
	require.Empty(t, needsOf(o))
	o.Behind += time.Millisecond
	o.DeadLetters, o.FailedAlerts = 1, 1200
	o.Channels = []overview.Channel{{Name: "apns"}, {Name: "fcm", Stopped: true, Reason: "unauthorized"}}
	o.Memory[0].UsedBytes, o.Memory[0].Server = 91, "b:6379"
	o.Workers = nil
	require.Equal(t, []need{
		{"No worker delivers: accepted messages wait", "/workers"},
		{"The channel fcm is stopped: unauthorized", "/workers"},
		{"The store b:6379 is nearly full", "/workers"},
		{"The queue is 1 min behind", "/workers"},
		{"1 dead letter", "/dead-letters"},
		{"1,200 alerts not delivered", "/alerts"},
	}, needsOf(o))
}
