package relay

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

const (
	// perPartition is how many due entries of a partition a relay reads at a time, and
	// together how many it works on at once.
	perPartition = 100
	together     = 32
	// mostLeft is how many entries a pass leaves before it ends.
	mostLeft = 10_000
)

// each reads due entries and settles them, until no other is due. It leaves those that are
// not settled, and those that fail, for the next pass, and goes on with what is behind
// them, as on another node of a cluster. It ends early if the store is away and nothing is
// settled. It returns the first error.
func each[T comparable](
	ctx context.Context, read func(perPartition int) ([]T, error), settle func(T) (settled bool, err error),
) error {
	left := make(map[T]bool)
	var failed error
	for len(left) < mostLeft {
		due, unread := read(perPartition + len(left))
		due = slices.DeleteFunc(due, func(entry T) bool { return left[entry] })
		if failed == nil {
			failed = unread
		}
		if len(due) == 0 {
			return failed
		}
		settled, err := settleAll(ctx, due, settle, left)
		if failed == nil {
			failed = err
		}
		if settled == 0 && persist.Unavailable(err) || ctx.Err() != nil {
			return errors.Join(failed, ctx.Err())
		}
	}
	return failed
}

// settleAll settles entries, several at a time, and adds those that it leaves to left. It
// returns how many it settled and the first error; that the store is away goes before
// others.
func settleAll[T comparable](
	ctx context.Context, due []T, settle func(T) (bool, error), left map[T]bool,
) (settled int, failed error) {
	var using sync.Mutex // left and the results
	var workers sync.WaitGroup
	entries := make(chan T)
	for range min(together, len(due)) {
		workers.Go(func() {
			for entry := range entries {
				ended, err := settle(entry)
				using.Lock()
				if ended && err == nil {
					settled++
				} else {
					left[entry] = true
				}
				if failed == nil || persist.Unavailable(err) && !persist.Unavailable(failed) {
					failed = err
				}
				using.Unlock()
			}
		})
	}
	for _, entry := range due {
		if ctx.Err() != nil {
			break
		}
		entries <- entry
	}
	close(entries)
	workers.Wait()
	return settled, failed
}
