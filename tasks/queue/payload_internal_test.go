package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

func goldenPayload(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.TrimSuffix(string(text), "\n")
}

func queuedAt(user, id, generation string, due int64) sendlimit.Timer {
	return sendlimit.Timer{User: user, ID: id, Generation: generation, Due: time.UnixMilli(due).UTC()}
}

// goldenTimers lists the timers in each golden file.
func goldenTimers() map[string][]sendlimit.Timer {
	first := queuedAt("alice <a&b>/ü:{p}", "order:17", "Jz0k-3_9aQpL", 1795345871123)
	second := queuedAt("bob", "order:17", "9aQpLJz0k-3_", 1795345871223)
	return map[string][]sendlimit.Timer{"push_deliver.v1.json": {first}, "push_deliver.v2.json": {first, second}}
}

func TestPayloadsAreReadForEver(t *testing.T) {
	t.Parallel()
	for name, want := range goldenTimers() {
		text := goldenPayload(t, name)
		got, newer, err := decodePayload([]byte(text))
		require.NoError(t, err)
		require.False(t, newer)
		require.Equal(t, want, got)

		// A newer program of the same version may say more.
		got, newer, err = decodePayload([]byte(strings.Replace(text, `,`, `,"queue":"2","hints":{"a":[1]},`, 1)))
		require.NoError(t, err)
		require.False(t, newer)
		require.Equal(t, want, got)
	}
}

// Every type and version of task that is written has its golden file, and the
// type is spelled as ever.
func TestPayloadThatIsWritten(t *testing.T) {
	t.Parallel()
	require.Equal(t, "push:deliver", TypeDeliver)
	require.Equal(t, 2, batchVersion, "a new version needs a golden file and a decoder for the old one")
	require.Equal(t, "sl:push", Name(""))
	require.Equal(t, "test-2:push", Name("test-2"))
	for name, batch := range goldenTimers() {
		written, err := json.Marshal(payloadFor(batch))
		require.NoError(t, err)
		require.JSONEq(t, goldenPayload(t, name), string(written))
	}
}

// Of a newer version only that it is one is read: all else may have changed.
func TestPayloadOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"v":3}`, `{"v":3,"user":7,"messages":"soon"}`} {
		timers, newer, err := decodePayload([]byte(text))
		require.NoError(t, err)
		require.True(t, newer)
		require.Empty(t, timers)
	}
}

func TestPayloadThatIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", "[]", "7", "null", "{}", `{"v":0}`, `{"v":-1}`, `{"v":"1"}`, `{"v":1.5}`, `{"v":1e99}`,
		`{"v":1,"user":7}`, `{"v":1,"due":"x"}`,
		`{"v":2}`, `{"v":2,"messages":[]}`, `{"v":2,"messages":{}}`, `{"v":2,"messages":[{"due":"x"}]}`,
	} {
		_, _, err := decodePayload([]byte(text))
		require.ErrorContains(t, err, "payload of a task", text)
	}
}

// Every file in testdata is held by a test above.
func TestGoldenFilesAreAllHeld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Equal(t, []string{"testdata/push_deliver.v1.json", "testdata/push_deliver.v2.json"}, files)
}

// A batch has at most 32 messages and spans at most 100 ms.
func TestTogether(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	at := func(after ...int) (queued []sendlimit.Timer) {
		for _, ms := range after {
			queued = append(queued, sendlimit.Timer{ID: "m", Due: began.Add(time.Duration(ms) * time.Millisecond)})
		}
		return queued
	}
	require.Empty(t, slices.Collect(new(Queue).together(nil)))
	require.Equal(t, [][]sendlimit.Timer{at(0, 50, 100), at(101, 201), at(302)}, slices.Collect(new(Queue).together(at(302, 100, 50, 0, 101, 201))))
	sizes := []int{}
	for batch := range new(Queue).together(at(make([]int, 70)...)) {
		sizes = append(sizes, len(batch))
	}
	require.Equal(t, []int{32, 32, 6}, sizes)
	for range new(Queue).together(at(0, 1000)) {
		break // as any iterator, it can be left
	}
}

// Messages that wait for the same cause are retried together, after the shortest delay.
func TestTheSoonestErrorCounts(t *testing.T) {
	t.Parallel()
	long, short := &AgainError{After: time.Minute, Cause: ErrStopping}, &AgainError{After: time.Second, Cause: ErrStopping}
	require.Equal(t, short, soonest([]outcome{{err: long}, {err: short}, {err: long}}))
	require.Equal(t, ErrStopping, causeOf(long))
	require.Equal(t, time.Second, comeAgain(short))
}

// An error that was wrapped on its way is still known.
func TestWrappedErrorsComeAgainWhenTheySay(t *testing.T) {
	t.Parallel()
	again := &AgainError{After: 7 * time.Second, Cause: ErrStopping}
	require.Equal(t, 7*time.Second, comeAgain(fmt.Errorf("a: %w", errors.Join(again, io.EOF))))
	require.Equal(t, errorPause, comeAgain(io.EOF))
	require.ErrorIs(t, again, ErrStopping)
	require.EqualError(t, again, "again in 7s: this worker stops")
}
