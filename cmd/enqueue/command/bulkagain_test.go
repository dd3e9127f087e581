package command

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// trafficLines is the traffic as a file has it, without ids, in a year that
// begins at now.
func trafficLines(t *testing.T, lines int) []string {
	t.Helper()
	trace, err := traffic.Load(lines)
	require.NoError(t, err)
	all := make([]string, len(trace.Sends))
	for i, send := range trace.Sends {
		all[i] = fmt.Sprintf(`{"user":%q,"send_at":%q,"title":"Hi"}`, send.User, now().Add(send.Offset).Format(time.RFC3339))
	}
	return all
}

// onLine reads a text and calls do before it gives the line.
func onLine(lines []string, line int, do func()) io.Reader {
	whole := strings.Join(lines[:line-1], "\n") + "\n"
	return io.MultiReader(strings.NewReader(whole), readerFunc(func([]byte) (int, error) {
		do()
		return 0, io.EOF
	}), strings.NewReader(strings.Join(lines[line-1:], "\n")+"\n"))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestAnInterruptSaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	lines := trafficLines(t, 1000)
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	p := &program{Program: cli.Program{Environ: f.environ, Stdin: onLine(lines, 700, cancel), Stdout: &stdout, Stderr: &stderr}, now: now}
	err := p.run(ctx, []string{"bulk", "-"})
	require.ErrorIs(t, err, context.Canceled, "the signal decides about the exit status")
	require.Equal(t, cli.StatusUnexpected, cli.ExitCode(err))
	require.Contains(t, stdout.String(), " in 0.0 seconds\n")
	require.Regexp(t, `^\nerror: stopped at line (\d+): interrupted; continue with --from-line \d+, or run it again: .*\n$`, stderr.String())
}

// Who calls it by mistake on a terminal gets out again.
func TestAnInterruptBeforeTheFirstLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	reading, nobody := io.Pipe()
	defer nobody.Close()
	stdin := io.MultiReader(readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, io.EOF
	}), reading)
	var stdout, stderr bytes.Buffer
	p := &program{Program: cli.Program{Environ: f.environ, Stdin: stdin, Stdout: &stdout, Stderr: &stderr}, now: now}
	require.ErrorIs(t, p.run(ctx, []string{"bulk", "-"}), context.Canceled)
	require.Empty(t, stdout.String()+stderr.String())
}

// A file that grows too much stops where it does, unless it is forced.
func TestAGzipFileThatGrowsTooMuchNeedsForce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := io.WriteString(w, messageLine("alice", "11:11:11")+strings.Repeat("\n", 5<<18))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	f.stdin = bytes.NewReader(bomb.Bytes())
	got := f.run(t, "bulk", "-", "--json")
	require.Equal(t, 2, got.status)
	require.Regexp(t, `\n{.*"detail":".*give --force if you trust it.*}\n$`, got.stdout)

	f.stdin = bytes.NewReader(bomb.Bytes())
	require.Zero(t, f.run(t, "bulk", "-", "--json", "--force").status)
}
