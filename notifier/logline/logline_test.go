package logline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func open(t *testing.T, w io.Writer) *logline.Notifier {
	t.Helper()
	l, err := logline.New(w, func() time.Time {
		return time.Date(2026, time.November, 22, 11, 11, 11, 42_000_000, time.UTC)
	})
	require.NoError(t, err)
	return l
}

// stuck returns a writer that blocks until the test ends, and what is closed
// when it has begun to.
func stuck(t *testing.T) (io.Writer, <-chan struct{}) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(end) })
	var once sync.Once
	return writerFunc(func(p []byte) (int, error) {
		once.Do(func() { close(begun) })
		<-end
		return len(p), nil
	}), begun
}

func TestConformance(t *testing.T) {
	t.Parallel()
	notifiertest.Run(t, notifiertest.Suite{
		New: func(t *testing.T) notifier.Notifier {
			t.Helper()
			return open(t, io.Discard)
		},
		Failing: func(t *testing.T) notifier.Notifier {
			t.Helper()
			return open(t, writerFunc(func([]byte) (int, error) { return 0, errors.New("disk full") }))
		},
		Stuck: func(t *testing.T) notifier.Notifier {
			t.Helper()
			w, _ := stuck(t)
			return open(t, w)
		},
	})
}

func TestLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	result := open(t, &out).Notify(t.Context(), notifier.Notification{
		ID: "order-17", User: "alice", Title: "1 < 2 & 3", Data: map[string]string{"order": "17"},
		SendAt:  time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC),
		Attempt: 1,
	})
	require.Equal(t, notifier.Result{Status: notifier.Delivered}, result)
	want := `{"id":"order-17","user":"alice","title":"1 < 2 & 3","data":{"order":"17"},` +
		`"send_at":"2026-11-22T11:11:11.000Z","attempt":1,"delivered_at":"2026-11-22T11:11:11.042Z"}` + "\n"
	require.Equal(t, want, out.String())
}

// The writer has no lock of its own, so that the race detector sees two writes
// at once.
func TestLinesAreWholeAndOneAtATime(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	writes := 0
	l := open(t, writerFunc(func(p []byte) (int, error) { writes++; return out.Write(p) }))
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			n := notifier.Notification{ID: "1", User: "alice", Body: strings.Repeat("b", 3000)}
			if result := l.Notify(t.Context(), n); result.Status != notifier.Delivered {
				t.Errorf("result %+v", result)
			}
		})
	}
	all.Wait()
	require.Equal(t, 200, writes)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 200)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

func TestFailedWriteIsRetried(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cause := errors.New("disk full")
	fail := true
	l := open(t, writerFunc(func(p []byte) (int, error) {
		if fail {
			n, _ := out.Write(p[:10])
			return n, cause
		}
		return out.Write(p)
	}))
	result := l.Notify(t.Context(), notifier.Notification{ID: "1"})
	require.Equal(t, notifier.Retry, result.Status)
	require.Equal(t, notifier.ReasonUnavailable, result.Reason)
	require.ErrorIs(t, result.Err, cause)

	fail = false
	require.Equal(t, notifier.Delivered, l.Notify(t.Context(), notifier.Notification{ID: "1"}).Status)
	require.Equal(t, notifier.Delivered, l.Notify(t.Context(), notifier.Notification{ID: "2"}).Status)
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 4, "half a line, two whole ones, and what is after the last newline")
	require.False(t, json.Valid([]byte(lines[0])))
	require.True(t, json.Valid([]byte(lines[1])), "it does not go on where the torn line ended")
	require.True(t, json.Valid([]byte(lines[2])))
}

func TestShortWriteIsRetried(t *testing.T) {
	t.Parallel()
	l := open(t, writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil }))
	result := l.Notify(t.Context(), notifier.Notification{ID: "1"})
	require.Equal(t, notifier.Retry, result.Status)
	require.ErrorIs(t, result.Err, io.ErrShortWrite)
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	w, begun := stuck(t)
	l := open(t, w)
	first, cancelFirst := context.WithCancel(t.Context())
	results := make(chan notifier.Result, 1)
	go func() { results <- l.Notify(first, notifier.Notification{ID: "1"}) }()
	<-begun

	second, cancelSecond := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancelSecond()
	result := l.Notify(second, notifier.Notification{ID: "2"})
	require.Equal(t, notifier.Retry, result.Status)
	require.False(t, result.Uncertain(), "its line was never begun")

	cancelFirst()
	require.True(t, (<-results).Uncertain(), "its line is on its way")
}

func TestNewNeedsAWriterAndAClock(t *testing.T) {
	t.Parallel()
	_, err := logline.New(nil, time.Now)
	require.Error(t, err)
	_, err = logline.New(io.Discard, nil)
	require.Error(t, err)
}
