package command

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// A worker of a former version would misread what this one writes. So the store becomes one
// of this version only when no such worker runs.
func TestTheLayoutIsRaisedOnceNoFormerWorkerRuns(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)
	former := start(t, environ).started(t)
	m.HSet("sl:meta", "layout", "1") // as if it were one
	m.Del("sl:{policies}:stored")
	require.Eventually(t, func() bool {
		workers, err := queue.Workers(client, "")
		return err == nil && len(workers) == 1
	}, time.Minute, 5*time.Millisecond)

	status, said := refuses(t, environ)
	require.Equal(t, cli.StatusUnavailable, status)
	require.Contains(t, said, "the store has layout 1, and workers of a former version use it, which can't read layout 3: stop them first;"+
		" if they were killed, wait 10 seconds: ")
	require.Contains(t, said, "(process "+strconv.Itoa(os.Getpid())+")")
	require.Equal(t, "1", m.HGet("sl:meta", "layout"))
	require.False(t, m.Exists("sl:{policies}:stored"), "no rules were written")
	workers, err := queue.Workers(client, "other")
	require.NoError(t, err)
	require.Empty(t, workers, "those of another prefix do no harm")

	require.NoError(t, former.end(t))
	worker := start(t, environ).started(t)
	line := worker.logged(t, "raised the layout of the store: programs of former versions refuse it from now on")
	require.EqualValues(t, 1, line["from"])
	require.EqualValues(t, 3, line["to"])
	require.Equal(t, "3", m.HGet("sl:meta", "layout"))

	start(t, environ).started(t) // beside one of its own version
}

func TestCheckNamesAnOlderLayout(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	m.HSet("sl:meta", "layout", "1")
	said := prints(t, environ, "", "check")
	require.Contains(t, said, "layout 1, which a worker raises to 3 when it starts")
	require.Equal(t, "1", m.HGet("sl:meta", "layout"))
}
