package integration_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// Another system has sent ten messages today: the eleventh is refused until midnight.
// Running the file again changes nothing, and nothing is delivered.
func TestEnqueueRecordsWhatWasSent(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	server := redistest.Shared(t)
	policies, err := settings.NewPolicies(server.Client(), "")
	require.NoError(t, err)
	policy, err := policy.Parse(policy.DefaultName, "", "10/calendar_day")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy))
	environ := []string{"REDIS_URL=" + server.URL()}

	now := time.Now().UTC()
	if midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour); midnight.Sub(now) < 10*time.Second {
		t.Skip("it is about to be another day")
	}
	var text bytes.Buffer
	for n := range 10 {
		at := now.Add(-time.Duration(n+1) * time.Millisecond)
		fmt.Fprintf(&text, `{"user":"alice","send_at":%q}`+"\n", at.Format(time.RFC3339Nano))
	}
	fmt.Fprintf(&text, `{"user":"alice","send_at":%q}`+"\n", now.Add(-72*time.Hour).Format(time.RFC3339Nano))
	path := filepath.Join(t.TempDir(), "sent.ndjson")
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))

	done := p.enqueue(t, environ, "bulk", "--record-sent", path, "--json")
	require.Zero(t, done.status, done.stderr)
	require.Contains(t, done.stdout, `"lines":11,"accepted":0,`)
	require.Contains(t, done.stdout, `"recorded":11,`)
	places, err := server.Client().ZCard(t.Context(), defaultKeys(t).Timeline("alice")).Result()
	require.NoError(t, err)
	require.Equal(t, int64(10), places, "one is forgotten")

	done = p.enqueue(t, environ, "bulk", "--record-sent", path)
	require.Zero(t, done.status, done.stderr)
	require.Contains(t, done.stdout, "replayed  10  recorded before: nothing changed")

	refused := p.enqueue(t, environ, "push", "--user", "alice", "--at", "+1s", "--title", "Hi", "--json")
	require.Equal(t, 3, refused.status, refused.stderr)
	require.Contains(t, refused.stdout, `"rule":"10/calendar_day"`)
	midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	require.Equal(t, midnight, timeIn(t, refused.stdout, "next_free_at"))
	accepted := p.enqueue(t, environ, "push", "--user", "alice", "--at", midnight.Format(time.RFC3339), "--title", "Hi")
	require.Zero(t, accepted.status, accepted.stderr)

	worker := p.worker(t, environ, "--push-url", "log:")
	worker.delivers(t)
	require.Zero(t, worker.end(t))
	require.Empty(t, worker.stdout.String())
}
