package api

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/counters"
)

// failedLogins allows an address 10 requests with a wrong key a minute. The minute begins
// with the first of them.
func failedLogins() counters.Counter {
	return counters.Counter{Name: "failed_logins", Limit: 10, Window: time.Minute}
}

// maxBlocked is the largest number of blocked addresses to remember.
const maxBlocked = 10_000

// failures counts failed logins by address, over all processes on a store.
type failures struct {
	counters *counters.Counters

	mu     sync.Mutex
	until  map[string]time.Time // end of the block of an address
	told   time.Time            // when the log last had an address
	untold int                  // addresses since then
}

// blocked returns how long an address must wait. Zero means that it is not blocked.
func (f *failures) blocked(address string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	until, some := f.until[address]
	if some && !until.After(now) {
		delete(f.until, address)
	}
	return max(until.Sub(now), 0)
}

// count counts a failure, and returns how long the address must wait now.
func (f *failures) count(ctx context.Context, address string, now time.Time) (time.Duration, error) {
	d, err := f.counters.Count(ctx, counters.Request{
		Key: "address " + address, Counters: []counters.Counter{failedLogins()},
	})
	if err != nil || d.Allowed {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until == nil || len(f.until) >= maxBlocked {
		f.until = make(map[string]time.Time) // the store still counts those that are forgotten
	}
	f.until[address] = now.Add(d.RetryAfter)
	return d.RetryAfter, nil
}

// tell reports whether to log an address that has just been blocked, and how many were not logged
// before it. Anybody can get addresses blocked, so only one a minute is logged.
func (f *failures) tell(now time.Time) (others int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.told.IsZero() && now.Sub(f.told) < time.Minute {
		f.untold++
		return 0, false
	}
	others = f.untold
	f.told, f.untold = now, 0
	return others, true
}
