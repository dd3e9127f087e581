package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// A batch has at most 32 messages and spans at most 100 ms.
func TestTogether(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	at := func(after ...int) (queued []messages.Queued) {
		for _, ms := range after {
			queued = append(queued, messages.Queued{ID: "m", Due: began.Add(time.Duration(ms) * time.Millisecond)})
		}
		return queued
	}
	require.Empty(t, slices.Collect(together(nil)))
	require.Equal(t, [][]messages.Queued{at(0, 50, 100), at(101, 201), at(302)}, slices.Collect(together(at(302, 100, 50, 0, 101, 201))))
	sizes := []int{}
	for batch := range together(at(make([]int, 70)...)) {
		sizes = append(sizes, len(batch))
	}
	require.Equal(t, []int{32, 32, 6}, sizes)
	for range together(at(0, 1000)) {
		break // as any iterator, it can be left
	}
}

// What waits for the same comes again together, with the shortest wait.
func TestTheSoonestErrorCounts(t *testing.T) {
	t.Parallel()
	long, short := &AgainError{After: time.Minute, Cause: ErrStopping}, &AgainError{After: time.Second, Cause: ErrStopping}
	require.Equal(t, short, soonest([]outcome{{err: long}, {err: short}, {err: long}}))
	require.Equal(t, ErrStopping, causeOf(long))
	require.Equal(t, time.Second, comeAgain(short))
}
