package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vbauerster/mpb/v8"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

// screen is what a bar is drawn on.
type screen struct{ output.Buffer }

func (s *screen) shows(text string) func() bool {
	return func() bool { return strings.Contains(s.String(), text) }
}

func TestProgressOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "messages")
	require.NoError(t, os.WriteFile(path, make([]byte, 1000), 0o600))
	file, err := new(program).openInput(path)
	require.NoError(t, err)
	defer file.Close()
	started := now()
	clock := func() time.Time { started = started.Add(2 * time.Second); return started }
	seen := &screen{}
	p := newProgress(seen, file, "", clock, mpb.WithAutoRefresh())
	next := p.reading(func() (bulk.Line, error) { return bulk.Line{}, nil })
	_, err = io.ReadFull(file, make([]byte, 1000))
	require.NoError(t, err)
	for range 4936 {
		_, err = next()
		require.NoError(t, err)
	}
	p.add(1234)
	require.Eventually(t, seen.shows("1,234 lines  "), 10*time.Second, time.Millisecond)
	require.Eventually(t, seen.shows("25 %"), 10*time.Second, time.Millisecond)
	require.False(t, seen.shows("100 %")(), "what is read ahead is not done")
	require.Eventually(t, seen.shows(" left"), 10*time.Second, time.Millisecond)
	require.NoError(t, p.printf("line 7: no good\n"))
	require.Eventually(t, seen.shows("line 7: no good\n"), 10*time.Second, time.Millisecond)
	p.end()
}

func TestProgressOfAPipe(t *testing.T) {
	t.Parallel()
	file := &messageFile{ReadCloser: io.NopCloser(strings.NewReader("text"))}
	seen := &screen{}
	p := newProgress(seen, file, "", now, mpb.WithAutoRefresh())
	_, err := io.ReadAll(file)
	require.NoError(t, err)
	p.add(5)
	require.Eventually(t, seen.shows("5 lines  "), 10*time.Second, time.Millisecond)
	require.False(t, seen.shows(" left")(), "nobody knows how much there is")
	p.end()
}

// A dry run reads the file first, then judges its lines, then sums up.
func TestProgressOfADryRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "messages")
	require.NoError(t, os.WriteFile(path, make([]byte, 1000), 0o600))
	file, err := new(program).openInput(path)
	require.NoError(t, err)
	defer file.Close()
	seen := &screen{}
	p := newProgress(seen, file, "reading", now, mpb.WithAutoRefresh())
	p.phase(bulk.Reading, 0)
	next := p.spooling(func() (bulk.Line, error) { return bulk.Line{}, nil })
	_, err = io.ReadFull(file, make([]byte, 250))
	require.NoError(t, err)
	for range 3 {
		_, err = next()
		require.NoError(t, err)
	}
	require.Eventually(t, seen.shows("reading  3 lines  "), 10*time.Second, time.Millisecond)
	require.Eventually(t, seen.shows("25 %"), 10*time.Second, time.Millisecond)

	p.phase(bulk.Judging, 8)
	judge := p.judging(func(context.Context, message.Message) (message.Outcome, error) { return message.Outcome{}, nil })
	for range 6 {
		_, err = judge(t.Context(), message.Message{})
		require.NoError(t, err)
	}
	require.Eventually(t, seen.shows("judging  6 lines  "), 10*time.Second, time.Millisecond)
	require.False(t, seen.shows("reading  6 lines  ")(), "a bar that goes keeps its count")
	require.Eventually(t, seen.shows("75 %"), 10*time.Second, time.Millisecond)

	p.phase(bulk.HandingOn, 4)
	p.add(2)
	require.Eventually(t, seen.shows("summing up  2 lines  "), 10*time.Second, time.Millisecond)
	require.Eventually(t, seen.shows("50 %"), 10*time.Second, time.Millisecond)
	p.end()
}

func TestNoProgressElsewhere(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	p := (&program{Program: cli.Program{Stderr: &stderr}}).startProgress(&messageFile{}, "")
	p.phase(bulk.Judging, 5)
	p.add(5)
	require.NoError(t, p.printf("line %d\n", 7))
	p.end()
	require.Equal(t, "line 7\n", stderr.String())
}
