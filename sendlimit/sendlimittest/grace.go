package sendlimittest

import "time"

// fairLooks is how many looks a delivery may still settle after its lease.
const fairLooks = 4

// gracePeriod is the grace period of a delivery after its lease, as the model counts it.
type gracePeriod struct {
	looks int       // so far
	last  time.Time // when the last of them was
}

// next returns when the next look may be, if the whole grace period is within.
func (f *gracePeriod) next(within time.Duration) time.Time { return f.last.Add(within / fairLooks) }

// goesOn reports whether the delivery may still settle, and counts a look.
func (f *gracePeriod) goesOn(now time.Time, within time.Duration) bool {
	switch {
	case within == 0:
		return false
	case !now.Before(f.last) && now.Before(f.next(within)):
		return true
	case f.looks == fairLooks:
		return false
	}
	f.looks, f.last = f.looks+1, now
	return true
}
