package deliver

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

const (
	// awayFor is how long nothing is claimed of a partition whose node is away.
	awayFor = time.Second
	// soonestBack and latestBack bound how long a task of such a partition goes back
	// to the queue: the later the message, the longer.
	soonestBack, latestBack = 2 * time.Second, 10 * time.Second
)

// errAway is the cause with which a task goes back to the queue while its node is away. It is also
// in the error of a claim that was not sent.
var errAway = errors.New("the node of the store that has the message is away")

// awayPartitions has the partitions whose node is away, with the time of the next try. Otherwise
// each of their tasks would take a delivery slot and a permit to find out.
type awayPartitions [keyspace.Partitions]atomic.Pointer[time.Time]

func (a *awayPartitions) note(user string, now time.Time) {
	until := now.Add(awayFor)
	a[keyspace.Partition(user)].Store(&until)
}

func (a *awayPartitions) has(user string, now time.Time) bool {
	until := a[keyspace.Partition(user)].Load()
	return until != nil && now.Before(*until)
}

// awayAgain sends a task back to the queue, where it holds up no other.
func (h *Handler) awayAgain(late time.Duration) error {
	after := min(max(late/2, soonestBack), latestBack)
	after += rand.N(after / 2)
	return &queue.AgainError{After: after, Cause: errAway}
}
