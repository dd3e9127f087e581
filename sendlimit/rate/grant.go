package rate

import (
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Grant answers Permits.Acquire and TokenBucket.Take. A refusal is a Grant with
// Allowed false, not an error, and takes nothing. All times are UTC with
// milliseconds.
type Grant struct {
	Allowed bool
	Code    fault.Code // CodeRateLimited for a refusal; empty when Allowed

	// TakenAt is when the permits of this request count as taken: earlier than Now
	// if the request was repeated, later with a Delay. It is zero for a refusal and
	// for tokens.
	TakenAt time.Time
	// UseBy is until when the permitted thing may happen: the Lag after TakenAt. If
	// it happens later, an interval may see more than the rate. It is zero for a
	// refusal and for tokens.
	UseBy time.Time
	// Limit is how many permits the rate has, or how many tokens the bucket holds.
	Limit int64
	// Interval is the interval of the rate of permits, or how long an empty bucket
	// takes to fill.
	Interval time.Duration
	// Remaining is how many more permits or whole tokens are free now.
	Remaining int64
	// RetryAfter is how long to wait after a refusal, at least 1 ms: as many as were
	// asked for are free then, unless others come first. It is zero when Allowed.
	RetryAfter time.Duration
	// ResetsAt is when all permits are back, or the bucket is full.
	ResetsAt time.Time

	// Now is the time that was judged: the server's clock, or the request's Now.
	Now time.Time
}

// refused completes a refusal whose wait is element i of a reply, ms. The wait is
// never zero: a caller that sleeps for it would call again at once, without end.
func (g Grant) refused(in *script.ReplyReader, i int) (Grant, error) {
	g.Code = fault.CodeRateLimited
	g.RetryAfter = max(time.Duration(in.Int(i))*time.Millisecond, time.Millisecond)
	return g, in.Err
}
