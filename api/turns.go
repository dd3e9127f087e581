package api

import (
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// newTurns returns the places of requests of an expensive kind. busy is the answer if as many
// are under way as may be: what is under way, how many run at a time, and what to do. whose
// is what an account has under way, after its number. One turn has no shares.
func newTurns(most int, busy, whose string) *places {
	return &places{
		most: most, perAccount: max(most/2, 1), perOperator: most, reserve: min(most-1, 1),
		full: func() error { return tryLater(busy, retryStreamAfter) },
		share: func(of holder, held int) error {
			return tryLater(of.has(held)+whose+", and no more are allowed at a time: try again when one has ended", retryStreamAfter)
		},
	}
}

// tryLater returns the error of a request that is refused because of others that are under
// way.
func tryLater(detail string, seconds int64) error {
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeRateLimited, RetryAfterSeconds: seconds, Detail: detail,
	}}
}
