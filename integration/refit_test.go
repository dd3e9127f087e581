package integration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

const (
	refitUsers = 60
	refitEach  = 5 // messages of each user, all on one day
)

// An operator lowers a limit. The program that moves what does not fit is killed in the
// middle, and the same command continues: nothing is lost, nothing is moved twice, and
// in the end everything fits.
func TestRefitGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		server := redistest.Shared(t)
		testRefitGoesOnAfterAKill(t, p, server.Client(), server.URL(), "sl")
	})
	t.Run("cluster", func(t *testing.T) {
		sendlimittest.Long(t)
		t.Parallel()
		cluster := redistest.SharedCluster(t)
		testRefitGoesOnAfterAKill(t, p, cluster.Client(), "redis-cluster://"+strings.Join(cluster.Addrs(), ","), redistest.Prefix(t))
	})
}

func testRefitGoesOnAfterAKill(t *testing.T, p programs, client redis.UniversalClient, url, prefix string) {
	t.Helper()
	policies := settings.NewPolicies(client, keyspace.KeysUnder(prefix))
	generous, err := policy.Parse(policy.DefaultName, "", "100/calendar_day")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), generous))
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{Options: sendlimit.Options{Prefix: prefix, ExpireAfter: 30 * 24 * time.Hour}}), submit.Options{})
	require.NoError(t, err)
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(3 * 24 * time.Hour)
	for u := range refitUsers {
		for k := range refitEach {
			o, err := submitter.Submit(t.Context(), message.Message{
				User: refitUser(u), ID: fmt.Sprint("m", k), Title: "Hi", SendAt: day.Add(time.Duration(k) * time.Hour),
			})
			require.NoError(t, err)
			require.Equal(t, message.Accepted, o.Outcome)
		}
	}
	require.NoError(t, submitter.Close())
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, []byte("rules: [2/calendar_day]\n"), 0o600))
	environ := []string{"REDIS_URL=" + url, "SENDLIMIT_PREFIX=" + prefix, "SENDLIMIT_EXPIRE_AFTER=720h"}

	previewed := p.workerCommand(t, environ, "policy", "apply", file, "--dry-run")
	require.Zero(t, previewed.status, previewed.stderr)
	require.Contains(t, previewed.stdout, "180 of 300 pending messages do not fit, of 60 of 60 users.\n")
	require.Contains(t, previewed.stdout, "Nothing was changed.\n")
	require.Equal(t, 3, strings.Count(previewed.stdout, "  "+refitUser(7)+"  "), "everything is listed where no person watches")
	policy, _, err := policies.Load(t.Context(), policy.DefaultName)
	require.NoError(t, err)
	require.Equal(t, generous.Rules, policy.Rules)

	moved := p.moveUntilKilled(t, environ, file, 60)
	require.GreaterOrEqual(t, moved, 60)

	rest := p.workerCommand(t, environ, "policy", "apply", file, "--then", "shift", "--json")
	require.Zero(t, rest.status, rest.stderr)
	lines := strings.Split(strings.TrimSpace(rest.stdout), "\n")
	var summary message.RefitSummary
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &summary))
	require.Equal(t, message.Refitted, summary.Outcome)
	require.Positive(t, summary.First, "it did not begin anew")
	require.Zero(t, summary.Kept+summary.Gone)
	// The killed program may not have counted the last message that it moved.
	require.InDelta(t, refitUsers*3, summary.Moved, 1)
	require.InDelta(t, refitUsers*3, summary.Misfits, 1)

	keys, err := keyspace.NewKeys(prefix)
	require.NoError(t, err)
	for u := range refitUsers {
		for k := range refitEach {
			record, err := client.HGetAll(t.Context(), keys.Record(refitUser(u), fmt.Sprint("m", k))).Result()
			require.NoError(t, err)
			wanted := day.Add(time.Duration(k) * time.Hour) // the first two stay
			if k >= 2 {
				wanted = day.Add(time.Duration(k/2) * 24 * time.Hour)
			}
			require.Equal(t, strconv.FormatInt(wanted.UnixMilli(), 10), record["t"], "%s of user %d", fmt.Sprint("m", k), u)
		}
	}
	again := p.workerCommand(t, environ, "policy", "apply", file, "--dry-run")
	require.Contains(t, again.stdout, "0 of 300 pending messages do not fit")
}

func refitUser(u int) string { return fmt.Sprintf("user%03d", u) }

// moveUntilKilled applies a policy and moves what does not fit, until enough messages
// were moved and the program is killed. It returns how many it reported.
func (p programs) moveUntilKilled(t *testing.T, environ []string, file string, enough int) int {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(p.folder, "sendlimit-worker"), "policy", "apply", file, "--then", "shift", "--json")
	command.Env, command.Stderr = environ, os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	moved := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if strings.Contains(lines.Text(), `"outcome":"moved"`) {
			moved++
		}
		if moved == enough {
			require.NoError(t, command.Process.Kill())
		}
	}
	require.Error(t, command.Wait(), "it was killed")
	return moved
}
