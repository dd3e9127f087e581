package command

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// written is what a program has written so far.
type written struct{ output.Buffer }

// lines are the whole lines so far, each a JSON object.
func (o *written) lines(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for text := range strings.Lines(o.String()) {
		var line map[string]any
		if strings.HasSuffix(text, "\n") {
			require.NoError(t, json.Unmarshal([]byte(text), &line), text)
			all = append(all, line)
		}
	}
	return all
}

// running is a worker in this process.
type running struct {
	stdout, stderr written
	stop           context.CancelFunc
	again          chan struct{} // as of a further signal
	ended          chan struct{}
	err            error // once ended is closed
}

// start runs the worker with a free port for the API, which later arguments can overrule, until
// the test ends.
func start(t *testing.T, environ []string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, again: make(chan struct{}), ended: make(chan struct{})}
	p := cli.Program{Environ: environ, Stdin: strings.NewReader(""), Stdout: &r.stdout, Stderr: &r.stderr, Await: func() <-chan struct{} { return r.again }}
	go func() {
		defer close(r.ended)
		r.err = Run(ctx, p, append([]string{"--listen", "127.0.0.1:0"}, args...))
	}()
	t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// started waits until the worker delivers.
func (r *running) started(t *testing.T) *running {
	t.Helper()
	r.logged(t, "delivering")
	return r
}

// logged waits for a line of the log, and returns it.
func (r *running) logged(t *testing.T, message string) map[string]any {
	t.Helper()
	var found map[string]any
	require.Eventually(t, func() bool {
		for _, line := range r.stderr.lines(t) {
			if text, _ := line["msg"].(string); strings.Contains(text, message) {
				found = line
			}
		}
		return found != nil
	}, time.Minute, 5*time.Millisecond, "no %q", message)
	return found
}

// notLogged looks that the log so far has no such line.
func (r *running) notLogged(t *testing.T, message string) {
	t.Helper()
	require.NotContains(t, r.stderr.String(), message)
}

// attribute returns a text of a line of the log.
func (r *running) attribute(t *testing.T, message, name string) string {
	t.Helper()
	value, ok := r.logged(t, message)[name].(string)
	require.True(t, ok, "%s of %q", name, message)
	return value
}

// environ is that of commands which ask the worker, as one of a shell on this machine.
func (r *running) environ(t *testing.T) []string {
	t.Helper()
	return []string{"SENDLIMIT_LISTEN=" + strings.TrimSuffix(strings.TrimPrefix(r.attribute(t, "API endpoint", "url"), "http://"), "/v1/")}
}

// submits sends a message to the API, due after the given time, and returns when it is to go out.
func (r *running) submits(t *testing.T, user string, after time.Duration) time.Time {
	t.Helper()
	c, err := client.New(strings.TrimSuffix(r.attribute(t, "API endpoint", "url"), "/v1/"), client.Options{})
	require.NoError(t, err)
	defer c.CloseIdleConnections()
	o, err := c.Submit(t.Context(), client.Message{ID: "id-" + user, User: user, SendAt: time.Now().Add(after), Title: "Hello"})
	require.NoError(t, err)
	return o.SendAt.Time
}

// end tells the worker to stop, and returns what it ended with.
func (r *running) end(t *testing.T) error {
	t.Helper()
	r.stop()
	return r.result(t)
}

// result waits until the worker ends by itself.
func (r *running) result(t *testing.T) error {
	t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(20 * time.Second):
		require.Fail(t, "the worker goes on")
		return nil
	}
}

// refuses runs a worker that has to end with an error, and returns its exit
// status and what a person would read.
func refuses(t *testing.T, environ []string, args ...string) (status int, sentences string) {
	t.Helper()
	err := start(t, environ, args...).result(t)
	require.Error(t, err)
	return failure(err)
}

func failure(err error) (status int, sentences string) {
	var said strings.Builder
	_ = cli.Report(&said, cli.Palette{}, cli.Names{}, err)
	return cli.ExitCode(err), said.String()
}

// command runs a subcommand to its end.
func command(t *testing.T, environ []string, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	var out, log written
	p := cli.Program{Environ: environ, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &log}
	err = Run(t.Context(), p, args)
	require.Empty(t, log.String())
	return out.String(), err
}

// prints runs a subcommand that has to succeed, and returns what it prints.
func prints(t *testing.T, environ []string, stdin string, args ...string) string {
	t.Helper()
	out, err := command(t, environ, stdin, args...)
	require.NoError(t, err)
	return out
}

// fails runs a subcommand that has to end with an exit status and a sentence, and returns all
// that a person would read.
func fails(t *testing.T, status int, says string, environ []string, stdin string, args ...string) (said string) {
	t.Helper()
	stdout, err := command(t, environ, stdin, args...)
	require.Empty(t, stdout, args)
	got, said := failure(err)
	require.Equal(t, status, got, args)
	require.Contains(t, said, says, args)
	return said
}
