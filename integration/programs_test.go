package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

// programs are the built programs, in a folder.
type programs struct{ folder string }

// buildOnce builds what the tests run, once for all of them.
var buildOnce struct { //nolint:globals // all tests share one build
	sync.Mutex

	folder string
}

// buildPrograms builds the programs and the examples into bin, as make build does. Go links
// none again that is there and up to date.
func buildPrograms(t *testing.T) programs {
	t.Helper()
	sendlimittest.Long(t)
	buildOnce.Lock()
	defer buildOnce.Unlock()
	if buildOnce.folder == "" {
		folder, err := filepath.Abs("../bin")
		require.NoError(t, err)
		build := exec.CommandContext(t.Context(), "go", "build", "-C", "..", "-o", folder+string(os.PathSeparator),
			"./cmd/sendlimit-worker", "./cmd/sendlimit", "./examples/receiver", "./examples/order-reminder", "./sendlimit/sendlimittest/cmd/traffic")
		output, err := build.CombinedOutput()
		require.NoError(t, err, string(output))
		buildOnce.folder = folder
	}
	return programs{folder: buildOnce.folder}
}

// result is the outcome of a program that has ended.
type result struct {
	status         int
	stdout, stderr string
}

// enqueue runs sendlimit to its end, with only the given environment.
func (p programs) enqueue(t *testing.T, environ []string, args ...string) result {
	t.Helper()
	return p.command(t, "sendlimit", environ, args)
}

// workerCommand runs a subcommand of the worker to its end.
func (p programs) workerCommand(t *testing.T, environ []string, args ...string) result {
	t.Helper()
	return p.command(t, "sendlimit-worker", environ, args)
}

func (p programs) command(t *testing.T, name string, environ, args []string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), filepath.Join(p.folder, name), args...)
	command.Env = append([]string{}, environ...) // nil would be the environment of this process
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended {
		require.NoError(t, err)
	}
	return result{status: command.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// workerProcess is a running worker.
type workerProcess struct {
	command        *exec.Cmd
	stdout, stderr output.Buffer
	ended          chan struct{}
}

// worker starts a worker, at a free port unless the arguments set another. It is killed
// at the end of the test.
func (p programs) worker(t *testing.T, environ []string, args ...string) *workerProcess {
	t.Helper()
	args = append([]string{"--listen", "127.0.0.1:0"}, args...)
	w := &workerProcess{ended: make(chan struct{})}
	w.command = exec.CommandContext(t.Context(), filepath.Join(p.folder, "sendlimit-worker"), args...)
	w.command.Env = append([]string{}, environ...)
	w.command.Stdout, w.command.Stderr = &w.stdout, &w.stderr
	require.NoError(t, w.command.Start())
	go func() {
		defer close(w.ended)
		_ = w.command.Wait() // its status is in the process's state
	}()
	t.Cleanup(func() {
		_ = w.command.Process.Kill()
		<-w.ended
	})
	return w
}

// environ is that of commands which ask the worker.
func (w *workerProcess) environ(t *testing.T) []string {
	t.Helper()
	return []string{"LANG=C.UTF-8", "SENDLIMIT_LISTEN=" + w.apiAddress(t)}
}

// delivers waits until the worker takes messages from the queue.
func (w *workerProcess) delivers(t *testing.T) {
	t.Helper()
	w.logged(t, "delivering", "msg")
}

// logged waits for a line of the log whose message has the words, and returns
// one of its attributes.
func (w *workerProcess) logged(t *testing.T, words, attribute string) string {
	t.Helper()
	value, found := "", false
	require.Eventually(t, func() bool {
		for line := range strings.Lines(w.stderr.String()) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) != nil {
				continue // half written
			}
			if message, _ := fields["msg"].(string); strings.Contains(message, words) {
				value, found = fields[attribute].(string)
			}
		}
		return found
	}, time.Minute, 10*time.Millisecond, "no %q in:\n%s", words, &w.stderr)
	return value
}

func (w *workerProcess) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, w.command.Process.Signal(s))
}

// end tells the worker to stop, and returns the exit status.
func (w *workerProcess) end(t *testing.T) int {
	t.Helper()
	w.signal(t, syscall.SIGTERM)
	return w.status(t)
}

// status waits for the end of the worker, and returns its exit status.
func (w *workerProcess) status(t *testing.T) int {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(30 * time.Second):
		require.Fail(t, "the worker goes on", "%s", w.stderr.String())
	}
	return w.command.ProcessState.ExitCode()
}

// statusOf returns the status of a URL's answer.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
