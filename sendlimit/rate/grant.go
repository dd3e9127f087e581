package rate

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Grant answers Permits.Acquire and TokenBucket.Take. A refusal is a Grant with
// Allowed false, not an error, and takes nothing. All times are UTC with
// milliseconds.
type Grant struct {
	Allowed bool
	Code    fault.Code // CodeRateLimited for a refusal; empty when Allowed

	// TakenAt is when the permits of this request were taken: earlier than Now if
	// the request was repeated. It is zero for a refusal and for tokens.
	TakenAt time.Time
	// Remaining is how many more permits or whole tokens are free now.
	Remaining int64
	// RetryAfter is how long to wait after a refusal: as many as were asked for
	// are free then, unless others come first.
	RetryAfter time.Duration
	// ResetsAt is when all permits are back, or the bucket is full.
	ResetsAt time.Time

	// Now is the time that was judged: the server's clock, or the request's Now.
	Now time.Time
}
