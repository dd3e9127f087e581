package rate

import (
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Grant answers Permits.Acquire and TokenBucket.Take. A refusal is a Grant with Allowed false, not
// an error, and takes nothing. All times are UTC with milliseconds.
type Grant struct {
	Allowed bool
	Code    fault.Code // CodeRateLimited for a refusal; empty when Allowed

	// TakenAt is when the permits of this request count as taken: earlier than Now if the request
	// was repeated, later with a Delay. It is zero for a refusal and for tokens.
	TakenAt time.Time
	// UseBy is the last time for the permitted thing: the Lag after TakenAt. If it happens later,
	// an interval may see more than the rate. It is zero for a refusal and for tokens.
	UseBy time.Time
	// Limit is the number of permits of the rate, or the capacity of the bucket.
	Limit int64
	// Interval is the interval of the rate of permits, or the time in which an empty bucket fills.
	Interval time.Duration
	// Remaining is how many more permits or whole tokens are free now.
	Remaining int64
	// RetryAfter is the wait after a refusal, at least 1 ms: the requested number is free then,
	// unless others come first. It is zero when Allowed.
	RetryAfter time.Duration
	// ResetsAt is when all permits are back, or the bucket is full.
	ResetsAt time.Time

	// Now is the time that was judged: the server's clock, or the request's Now.
	Now time.Time
}

// refused completes a refusal whose wait, ms, is element i of a reply. The wait is never zero: a
// caller that sleeps for it would call again at once, without end.
func (g Grant) refused(in *script.ReplyReader, i int) (Grant, error) {
	g.Code = fault.CodeRateLimited
	g.RetryAfter = max(time.Duration(in.Int(i))*time.Millisecond, time.Millisecond)
	return g, in.Err
}
