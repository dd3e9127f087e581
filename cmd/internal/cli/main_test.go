package cli_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// programVariable makes the test binary one of the programs below.
const programVariable = "SENDLIMIT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		os.Exit(cli.Main(cli.Worker, programs()[name]))
	}
	goleak.VerifyTestMain(m)
}

func programs() map[string]cli.Run {
	waiting := func(then func(ctx context.Context) error) cli.Run {
		return func(ctx context.Context, p cli.Program, _ []string) error {
			fmt.Fprintln(p.Stdout, "ready")
			<-ctx.Done()
			fmt.Fprintln(p.Stdout, "stopping")
			return then(ctx)
		}
	}
	return map[string]cli.Run{
		"echo": func(_ context.Context, p cli.Program, args []string) error {
			input, err := io.ReadAll(p.Stdin)
			fmt.Fprintf(p.Stdout, "%q %s", args, input)
			fmt.Fprint(p.Stderr, "aside")
			return err
		},
		"fail":    func(context.Context, cli.Program, []string) error { return errors.New("no luck") },
		"refused": func(context.Context, cli.Program, []string) error { return cli.StatusError(3) },
		"orderly": waiting(func(context.Context) error { return nil }),
		"gives-up": waiting(func(ctx context.Context) error {
			return fmt.Errorf("reading: %w", ctx.Err())
		}),
		"unavailable": waiting(func(context.Context) error {
			return store.Explain(context.DeadlineExceeded, "settling")
		}),
		"patient": func(ctx context.Context, p cli.Program, _ []string) error {
			fmt.Fprintln(p.Stdout, "ready")
			<-ctx.Done()
			again := p.Await() // before it is said: the next signal may follow at once
			fmt.Fprintln(p.Stdout, "stopping")
			<-again
			fmt.Fprintln(p.Stdout, "no longer waiting")
			select {}
		},
		"stuck": waiting(func(context.Context) error { select {} }),
	}
}

// command is one of the programs, not yet started.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	program := exec.CommandContext(t.Context(), self, args...)
	program.Env = append(os.Environ(), programVariable+"="+name)
	return program
}

// start runs one of the programs and returns it once it is ready, with the
// lines that it prints and what it has to say of errors.
func start(t *testing.T, name string) (*exec.Cmd, *bufio.Scanner, *strings.Builder) {
	t.Helper()
	program := command(t, name)
	stdout, err := program.StdoutPipe()
	require.NoError(t, err)
	stderr := &strings.Builder{}
	program.Stderr = stderr
	require.NoError(t, program.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	require.Equal(t, "ready", lines.Text())
	return program, lines, stderr
}

// status waits for the program and returns how it exited.
func status(t *testing.T, program *exec.Cmd) int {
	t.Helper()
	err := program.Wait()
	if err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		require.True(t, ok, "%v", err)
		require.True(t, exit.Exited(), "it was killed instead of exiting")
	}
	return program.ProcessState.ExitCode()
}

func TestMainPassesTheProcessOn(t *testing.T) {
	t.Parallel()
	program := command(t, "echo", "a", "--b")
	program.Stdin = strings.NewReader("input")
	var stdout, stderr strings.Builder
	program.Stdout, program.Stderr = &stdout, &stderr
	require.NoError(t, program.Run())
	require.Equal(t, `["a" "--b"] input`, stdout.String())
	require.Equal(t, "aside", stderr.String())
}

func TestMainPrintsWhatHasNotBeenPrinted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		status int
		stderr string
	}{"fail": {1, "error: no luck\n"}, "refused": {3, ""}} {
		program := command(t, name)
		var stderr strings.Builder
		program.Stderr = &stderr
		require.NoError(t, program.Start())
		require.Equal(t, want.status, status(t, program))
		require.Equal(t, want.stderr, stderr.String())
	}
}

func TestFirstSignalEndsInOrder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program string
		signal  syscall.Signal
		status  int
		stderr  string
	}{
		{"orderly", syscall.SIGTERM, 0, ""}, // it did what it was told
		{"orderly", syscall.SIGINT, 0, ""},
		{"gives-up", syscall.SIGINT, 130, "error: stopped by the signal \"interrupt\"\n"},
		{"gives-up", syscall.SIGTERM, 143, "error: stopped by the signal \"terminated\"\n"},
		{"unavailable", syscall.SIGTERM, 5, "error: Redis did not answer in time"}, // what went wrong says more
	} {
		program, lines, stderr := start(t, row.program)
		require.NoError(t, program.Process.Signal(row.signal))
		require.True(t, lines.Scan())
		require.Equal(t, "stopping", lines.Text())
		require.Equal(t, row.status, status(t, program), row.program)
		require.True(t, strings.HasPrefix(stderr.String(), row.stderr), stderr.String())
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		program, lines, _ := start(t, "stuck")
		require.NoError(t, program.Process.Signal(syscall.SIGTERM))
		require.True(t, lines.Scan(), "the first one is only a request")
		require.NoError(t, program.Process.Signal(signal))
		require.Equal(t, want, status(t, program))
	}
}

// A program that waits for a signal after the first gets it, and the next one ends the process.
func TestASignalThatTheProgramWaitsForDoesNotEndIt(t *testing.T) {
	t.Parallel()
	program, lines, _ := start(t, "patient")
	for _, said := range []string{"stopping", "no longer waiting"} {
		require.NoError(t, program.Process.Signal(syscall.SIGTERM))
		require.True(t, lines.Scan())
		require.Equal(t, said, lines.Text())
	}
	require.NoError(t, program.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, status(t, program))
}
