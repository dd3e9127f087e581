package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// In a store that was restored from a backup, messages are scheduled that were sent
// after the backup. At another address a worker sends nothing of them, until it is told from
// when on to send, or that the store has moved.
func TestWorkerAfterARestore(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	server, environ := storeWithRules(t)
	push := func(environ []string, user string, at time.Time) result {
		t.Helper()
		return p.enqueue(t, environ, "push", "--user", user, "--id", "m", "--at", at.Format(time.RFC3339Nano), "--title", user, "--json")
	}
	first := p.worker(t, environ, "--push-url", "log:")
	first.delivers(t)
	soon := time.Now().Add(6 * time.Second).UTC().Truncate(time.Millisecond)
	later := soon.Add(8 * time.Second)
	for n := range 5 {
		require.Zero(t, push(environ, fmt.Sprintf("soon-%d", n), soon).status)
		require.Zero(t, push(environ, fmt.Sprintf("later-%d", n), later).status)
	}
	backup := backUp(t, server)
	require.Empty(t, first.stdout.String())
	require.Eventually(t, func() bool { return strings.Count(first.stdout.String(), "\n") == 5 }, 60*time.Second, 20*time.Millisecond)
	require.Zero(t, first.end(t))
	require.Equal(t, 5, strings.Count(first.stdout.String(), `"user":"soon-`))
	server.Kill()

	restored := redistest.Real(t, "--dir", backup)
	environ = []string{"REDIS_URL=" + restored.URL()}
	require.Contains(t, p.enqueue(t, environ, "status", "--user", "soon-1", "m", "--json").stdout, `"status":"scheduled"`,
		"the store has forgotten that it was sent")
	held := p.worker(t, environ, "--push-url", "log:")
	require.Contains(t, held.logged(t, "nothing is delivered: the store was last delivered under another address", "next"), "--drop-due-before")
	require.Never(t, func() bool { return held.stdout.String() != "" }, time.Second, 50*time.Millisecond)
	require.Zero(t, held.end(t))
	second := p.worker(t, environ, "run", "--push-url", "log:", "--drop-due-before", soon.Add(time.Millisecond).Format(time.RFC3339Nano))
	second.delivers(t)
	require.NotEmpty(t, second.logged(t, "due before this time are dropped", "drop_due_before"))
	require.Eventually(t, func() bool { return strings.Count(second.stdout.String(), "\n") == 5 }, 60*time.Second, 20*time.Millisecond)
	for n := range 5 {
		user := fmt.Sprintf("soon-%d", n)
		require.Eventually(t, func() bool {
			status := p.enqueue(t, environ, "status", "--user", user, "m", "--json").stdout
			return strings.Contains(status, `"status":"uncertain"`) && strings.Contains(status, `"reason":"restored"`)
		}, 2*time.Minute, 100*time.Millisecond, user) // the backup may have a task that was taken: a minute later it counts as lost
	}
	require.Equal(t, 3, p.enqueue(t, environ, "push", "--user", "soon-1", "--id", "next", "--at",
		soon.Add(59*time.Second).Format(time.RFC3339Nano), "--title", "Hi").status, "it was sent, so it counts")
	require.Zero(t, second.end(t))
	require.Equal(t, 5, strings.Count(second.stdout.String(), `"user":"later-`), second.stdout.String())

	moved := redistest.Real(t, "--dir", backUp(t, restored))
	restored.Kill()
	environ = []string{"REDIS_URL=" + moved.URL()}
	require.Zero(t, push(environ, "mover", time.Now().Add(100*time.Millisecond)).status)
	third := p.worker(t, environ, "run", "--push-url", "log:", "--store-moved")
	require.Eventually(t, func() bool { return strings.Contains(third.stdout.String(), `"user":"mover"`) }, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, 1, strings.Count(third.stdout.String(), "\n"))
	require.Zero(t, third.end(t))
}

// backUp saves a store, and returns a folder with the copy.
func backUp(t *testing.T, server *redistest.Server) string {
	t.Helper()
	require.NoError(t, server.Client().Save(t.Context()).Err())
	folder, err := server.Client().ConfigGet(t.Context(), "dir").Result()
	require.NoError(t, err)
	const file = "dump.rdb"
	saved, err := os.ReadFile(filepath.Join(folder["dir"], file))
	require.NoError(t, err)
	backup := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(backup, file), saved, 0o600))
	return backup
}
