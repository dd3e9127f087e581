package rate

import "time"

// Level is how full permits or a bucket are. Permits.Peek and TokenBucket.Peek return it; they take
// nothing. All times are UTC with milliseconds.
type Level struct {
	Limit     int64 // permits of the rate, or tokens that the bucket holds
	Used      int64 // more than Limit after the rate was lowered
	Available int64 // how many one call could take now
	// MoreAt is when Available grows next; zero if nothing is used.
	MoreAt time.Time
	// ResetsAt is when nothing is used any more; zero if nothing is used.
	ResetsAt time.Time
	Now      time.Time // the time that was judged: the server's clock, or the caller's
}
