package batch_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// log notes the batches of a loop, of which it fails as many as it is told to.
type log struct {
	batches [][]int
	fails   bool
	took    time.Duration
}

func (l *log) work(ctx context.Context, batch []int) bool {
	l.batches = append(l.batches, slices.Clone(batch))
	select {
	case <-time.After(l.took):
	case <-ctx.Done():
		return false
	}
	return !l.fails
}

func add(l *batch.Loop[int], items ...int) {
	for _, item := range items {
		l.Add(item)
	}
}

func TestWhatComesWhileTheLoopWorksMakesTheNextBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		did := log{took: time.Second}
		loop := batch.NewLoop(batch.Options{Together: 3, Within: time.Minute}, did.work)
		loop.Start()
		loop.Add(1)
		synctest.Wait()
		add(loop, 2, 3, 4, 5)
		loop.Close()
		require.Equal(t, [][]int{{1}, {2, 3, 4}, {5}}, did.batches)
		loop.Add(6)
		loop.Close()
		require.Len(t, did.batches, 3, "nothing is taken after the end")
	})
}

func TestAFullBacklogDropsItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var did log
		loop := batch.NewLoop(batch.Options{Backlog: 2, Within: time.Minute}, did.work)
		add(loop, 1, 2, 3)
		loop.Start()
		synctest.Wait()
		require.Equal(t, [][]int{{1, 2}}, did.batches)
		loop.Add(4)
		loop.Close()
		require.Equal(t, [][]int{{1, 2}, {4}}, did.batches)
	})
}

func TestAnItemWaitsForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var did log
		loop := batch.NewLoop(batch.Options{Within: time.Minute, Gather: time.Second}, did.work)
		loop.Start()
		for i := range 3 {
			loop.Add(i)
			time.Sleep(600 * time.Millisecond)
		}
		synctest.Wait()
		require.Equal(t, [][]int{{0, 1}}, did.batches)
		loop.Close()
		require.Equal(t, [][]int{{0, 1}, {2}}, did.batches, "the end is not waited for")
	})
}

// A batch that failed is not tried again, and ends the loop only when it closes.
func TestAFailedBatchEndsALoopThatCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		did := log{took: time.Hour}
		loop := batch.NewLoop(batch.Options{Together: 1, Within: time.Second}, did.work)
		loop.Start()
		add(loop, 1, 2, 3, 4, 5)
		time.Sleep(1500 * time.Millisecond)
		began := time.Now()
		loop.Close()
		require.Equal(t, [][]int{{1}, {2}}, did.batches)
		require.Equal(t, 500*time.Millisecond, time.Since(began))
	})
}

func TestALoopWithATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		did := log{fails: true}
		loop := batch.NewLoop(batch.Options{Every: time.Second, Within: time.Minute}, did.work)
		loop.Start()
		add(loop, 1, 2)
		time.Sleep(2500 * time.Millisecond)
		loop.Add(3)
		loop.Close()
		require.Equal(t, [][]int{{1, 2}, nil, {3}}, did.batches)
	})
}

func TestALoopThatNeverStartedCloses(t *testing.T) {
	t.Parallel()
	var did log
	loop := batch.NewLoop(batch.Options{Within: time.Second}, did.work)
	loop.Add(1)
	loop.Close()
	require.Empty(t, did.batches)
}
