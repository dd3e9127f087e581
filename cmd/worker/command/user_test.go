package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// storeOfAlice is a store with two messages to alice, of which one was
// cancelled, and the environment that names it.
func storeOfAlice(t *testing.T) (client *redis.Client, environ []string) {
	t.Helper()
	server, client := redistest.Embedded(t)
	environ = []string{"REDIS_URL=redis://" + server.Addr() + "?read_timeout=1m"}
	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{Horizon: policy.DefaultReach}), submit.Options{}) // with tasks
	require.NoError(t, err)
	for i, id := range []string{"a", "b"} {
		o, err := submitter.Submit(t.Context(), message.Message{
			ID: id, User: "alice", SendAt: time.Now().Add(time.Duration(i+1) * time.Hour), Title: "Hi <there>",
		})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	_, err = submitter.Cancel(t.Context(), "alice", "b")
	require.NoError(t, err)
	require.NoError(t, submitter.Close())
	return client, environ
}

func TestUserExport(t *testing.T) {
	t.Parallel()
	_, environ := storeOfAlice(t)
	text := prints(t, environ, "", "user", "export", "alice")
	require.Contains(t, text, `"title":"Hi <there>"`)
	entries, lists := 0, make(map[string]int)
	for line := range strings.Lines(text) {
		var entry message.UserEntry
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Outcome == message.UserEntryFound {
			lists[entry.List]++
			entries++
			continue
		}
		var summary message.UserExport
		require.NoError(t, json.Unmarshal([]byte(line), &summary))
		require.Equal(t, "alice", summary.User)
		require.Equal(t, entries, summary.Entries)
		require.WithinDuration(t, time.Now(), summary.ExportedAt.Time, time.Minute)
	}
	require.Equal(t, 2, lists["messages"])
	require.Equal(t, 1, lists["tasks"], "that of the cancelled message is gone")
	require.Equal(t, 1, lists["watch_list"])
}

func TestUserExportOfNobody(t *testing.T) {
	t.Parallel()
	_, environ := storeOfAlice(t)
	fails(t, cli.StatusNotFound, "not found: no data of user \"Alice\"\n", environ, "", "user", "export", "Alice")
}

func TestUserErase(t *testing.T) {
	t.Parallel()
	client, environ := storeOfAlice(t)
	text := prints(t, environ, "", "user", "erase", "alice", "--yes")
	require.Equal(t, "erased alice: 2 messages, 1 of them pending, 3 keys and 2 entries of the store,"+
		" 1 task of the queue\n", text)
	left, err := client.Keys(t.Context(), "*alice*").Result()
	require.NoError(t, err)
	require.Empty(t, left)
	text, err = command(t, environ, "", "user", "erase", "alice", "--yes", "--json")
	require.NoError(t, err, "twice is harmless")
	require.JSONEq(t, `{"outcome":"erased","user":"alice","messages":0,"cancelled":0,"tasks":0,"keys":0,"entries":0,"running":0}`, text)
}

// Nothing is done without a yes, or on a command line that makes no sense.
func TestUserEraseHasToBeConfirmed(t *testing.T) {
	t.Parallel()
	client, environ := storeOfAlice(t)
	keys, err := client.Keys(t.Context(), "*alice*").Result()
	require.NoError(t, err)
	for _, row := range []struct {
		args []string
		said string
	}{
		{[]string{"alice"}, "error: erasing can't be undone: see sendlimit-worker user export," +
			" and confirm with sendlimit-worker user erase \"alice\" --yes\n"},
		{[]string{"alice", "--yes", "--wait", "-1s"}, "error: wait \"-1s\" is not allowed: use a duration such as 90s or 5m, 0s not to wait\n"},
		{[]string{"alice", "--yes", "--wait", "x"}, "error: wait \"x\" is not allowed: use a duration such as 90s or 5m, 0s not to wait\n"},
		{[]string{"a\nb", "--yes"}, "error: user \"a\\nb\" is not allowed: use 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends\n"},
		{[]string{"--yes"}, "error: USER is missing; see sendlimit-worker user erase --help\n"},
		{[]string{"a", "b"}, "error: unexpected argument \"b\": give one USER; see sendlimit-worker user erase --help\n"},
	} {
		fails(t, cli.StatusInvalid, row.said, environ, "", append([]string{"user", "erase"}, row.args...)...)
	}
	text, err := command(t, environ, "", "user", "erase", "alice", "--json")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	require.Contains(t, text, `{"outcome":"invalid","code":"invalid_field","detail":"erasing can't be undone: `)
	left, err := client.Keys(t.Context(), "*alice*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, keys, left)
}

// What was left of a worker that died with a task is not taken away, but said.
func TestUserEraseSaysWhatStays(t *testing.T) {
	t.Parallel()
	client, environ := storeOfAlice(t)
	const scheduled, active, task = "asynq:{sl:push}:scheduled", "asynq:{sl:push}:active", "asynq:{sl:push}:t:"
	ids, err := client.ZRange(t.Context(), scheduled, 0, 0).Result()
	require.NoError(t, err)
	require.NoError(t, client.ZRem(t.Context(), scheduled, ids[0]).Err())
	require.NoError(t, client.LPush(t.Context(), active, ids[0]).Err())
	require.NoError(t, client.HSet(t.Context(), task+ids[0], "state", "active").Err())
	text, err := command(t, environ, "", "user", "erase", "alice", "--yes", "--wait", "100ms")
	require.Contains(t, text, "erased alice: 2 messages")
	status, said := failure(err)
	require.Equal(t, cli.StatusRefused, status)
	require.Contains(t, said, "in 1 task of a worker that is delivering")
}

func TestUserWithoutAStore(t *testing.T) {
	t.Parallel()
	fails(t, cli.StatusUnavailable, "no Redis at 127.0.0.1:1", []string{"REDIS_URL=redis://127.0.0.1:1"}, "", "user", "export", "alice")
}
