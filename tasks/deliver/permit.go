package deliver

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// permit allows one call. The zero permit is for a target without a pace.
type permit struct {
	token  string
	clock  *storeclock.Clock // of the server that gave it
	taken  time.Time         // by that clock
	useBy  time.Time         // the latest begin of the call, by that clock
	bucket *rate.TokenBucket
	// generation is that of the learned rate under which it was given; zero for none.
	generation int64
	spent      bool // a call has begun with it, or it was given back
	// onlyExpired says that it allows no call: only an expired message may be claimed.
	onlyExpired bool
}

// inTime reports whether a call may begin now. If not, permits of the next interval may be in use.
func (held permit) inTime() bool { return held.token == "" || !held.latest().After(held.useBy) }

// latest returns the latest time that it may be at the server of the permit: the clock is as
// accurate as replies are fast, and replies have whole milliseconds.
func (held permit) latest() time.Time {
	return held.clock.Now().Add(held.clock.Latency() + time.Millisecond)
}
