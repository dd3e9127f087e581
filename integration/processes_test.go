package integration_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A client in a separate process is this test's program, which runs only the test for
// its part.
const (
	partEnv   = "SENDLIMIT_TEST_PART"   // the number of the process
	storeEnv  = "SENDLIMIT_TEST_STORE"  // the URL of the store
	outputEnv = "SENDLIMIT_TEST_OUTPUT" // the file for its result
	seedEnv   = "SENDLIMIT_TEST_SEED"
)

const (
	readyKey = "test:ready"
	startKey = "test:start"
)

// runProcesses runs a test in several processes, which all begin together, and returns
// what each of them reported.
func runProcesses[R any](t *testing.T, server *redistest.Server, test string, processes int, seed uint64) []R {
	t.Helper()
	t.Logf("seed %d", seed)
	folder := t.TempDir()
	output := func(part int) string { return filepath.Join(folder, strconv.Itoa(part)) }
	running, said := make([]*exec.Cmd, processes), make([]bytes.Buffer, processes)
	for part := range running {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), partEnv+"="+strconv.Itoa(part), storeEnv+"="+server.URL(),
			outputEnv+"="+output(part), seedEnv+"="+strconv.FormatUint(seed, 10))
		cmd.Stdout = &said[part]
		cmd.Stderr = &said[part]
		require.NoError(t, cmd.Start())
		running[part] = cmd
	}
	for range processes {
		require.NoError(t, server.Client().BLPop(t.Context(), 30*time.Second, readyKey).Err(), "a process did not start")
	}
	for range processes {
		require.NoError(t, server.Client().RPush(t.Context(), startKey, "go").Err())
	}
	reports := make([]R, processes)
	for part, cmd := range running {
		require.NoError(t, cmd.Wait(), "%s", &said[part])
		text, err := os.ReadFile(output(part))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &reports[part]))
	}
	return reports
}

// process is what runProcesses tells a process.
type process struct {
	t      *testing.T
	part   int
	seed   uint64
	client *redis.Client
}

// beProcess skips the test unless runProcesses runs it.
func beProcess(t *testing.T) process {
	t.Helper()
	if os.Getenv(storeEnv) == "" {
		t.Skip("is run in processes of its own by another test")
	}
	part, err := strconv.Atoi(os.Getenv(partEnv))
	require.NoError(t, err)
	seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64)
	require.NoError(t, err)
	o, err := redis.ParseURL(os.Getenv(storeEnv))
	require.NoError(t, err)
	client := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return process{t: t, part: part, seed: seed, client: client}
}

// begin waits until all processes have started.
func (p process) begin() {
	p.t.Helper()
	require.NoError(p.t, p.client.RPush(p.t.Context(), readyKey, p.part).Err())
	require.NoError(p.t, p.client.BLPop(p.t.Context(), 30*time.Second, startKey).Err())
}

func (p process) report(found any) {
	p.t.Helper()
	text, err := json.Marshal(found)
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(os.Getenv(outputEnv), text, 0o600))
}
