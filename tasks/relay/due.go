package relay

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

const (
	// perPartition is how many due entries of a partition a relay reads at a time, and
	// together how many it works on at once.
	perPartition = 100
	together     = 32
	// maxLeft is how many entries a pass leaves before it ends.
	maxLeft = 10_000
)

// each reads due entries and settles them, until no other is due. Split makes parts that are
// settled together. Settle returns the entries that it could not settle: they are left for the next
// pass, and each goes on with the entries behind them, which may be on another node of a cluster.
// Finish ends a round; if it fails, so does each. Each ends early if the store is away and nothing is
// settled. It returns the first error.
func each[T comparable](
	ctx context.Context, read func(perPartition int) ([]T, error), split func([]T) iter.Seq[[]T],
	settle func([]T) (left []T, err error), finish func() error,
) error {
	left := make(map[T]bool)
	var failed error
	for len(left) < maxLeft {
		due, unread := read(perPartition + len(left))
		due = slices.DeleteFunc(due, func(entry T) bool { return left[entry] })
		if failed == nil {
			failed = unread
		}
		if len(due) == 0 {
			return failed
		}
		before := len(left)
		err := settleAll(ctx, split(due), settle, left)
		if failed == nil {
			failed = err
		}
		if err := finish(); err != nil {
			return errors.Join(failed, err)
		}
		if len(left)-before == len(due) && persist.Unavailable(err) || ctx.Err() != nil {
			return errors.Join(failed, ctx.Err())
		}
	}
	return failed
}

// settleAll settles parts, several at a time, and adds the entries that are not settled to left.
// It returns the first error, preferably that the store is away.
func settleAll[T comparable](
	ctx context.Context, parts iter.Seq[[]T], settle func([]T) ([]T, error), left map[T]bool,
) (failed error) {
	var using sync.Mutex // left and failed
	var workers sync.WaitGroup
	work := make(chan []T)
	for range together {
		workers.Go(func() {
			for part := range work {
				stays, err := settle(part)
				using.Lock()
				for _, entry := range stays {
					left[entry] = true
				}
				if failed == nil || persist.Unavailable(err) && !persist.Unavailable(failed) {
					failed = err
				}
				using.Unlock()
			}
		})
	}
	for part := range parts {
		if ctx.Err() != nil {
			break
		}
		work <- part
	}
	close(work)
	workers.Wait()
	return failed
}
