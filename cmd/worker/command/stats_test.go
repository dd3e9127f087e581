package command

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

func TestStats(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)
	out := prints(t, environ, "", "stats")
	require.Equal(t, "0 pending messages\nqueue: empty\ngiven up: 0 messages, 0 alerts\nthe schedule is not behind\n", out)
	require.Empty(t, m.Keys(), "looking leaves nothing behind")

	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	for i := range 2 {
		o, err := submitter.Submit(t.Context(), message.Message{
			User: "alice", SendAt: time.Now().Add(time.Duration(i+1) * time.Hour), Title: "Hi",
		})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	require.NoError(t, submitter.Close())
	out = prints(t, environ, "", "stats")
	require.Contains(t, out, "2 pending messages\n")
	out = prints(t, environ, "", "stats", "--json")
	var stats message.Stats
	require.NoError(t, json.Unmarshal([]byte(out), &stats))
	require.Equal(t, 2, stats.Pending)
	require.Equal(t, cli.Version(), stats.Version)

	m.Close()
	_, err = command(t, environ, "", "stats")
	require.Equal(t, cli.StatusUnavailable, cli.ExitCode(err))
}
