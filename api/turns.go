package api

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// newTurns returns the slots for an expensive kind of request. busy is the answer if all are taken:
// what is running, how many may run at a time, and what to do. whose describes an account's running
// requests, after their number. One turn has no shares.
func newTurns(most int, busy, whose string) *slots {
	return &slots{
		most: most, perAccount: max(most/2, 1), perOperator: most, reserve: min(most-1, 1),
		full: func() error { return tryLater(busy, retryStreamAfter) },
		share: func(of holder, held int) error {
			return tryLater(of.has(held)+whose+", and no more are allowed at a time: try again when one has ended", retryStreamAfter)
		},
	}
}

// turnWithin is how long a short request waits for its turn.
const turnWithin = 5 * time.Second

// awaitTurn is await for at most turnWithin. Waiting accounts get turns in rotation, so another
// account waits for at most one turn of each.
func (p *slots) awaitTurn(ctx context.Context, of holder) error {
	ctx, done := context.WithTimeout(ctx, turnWithin)
	defer done()
	return p.await(ctx, of)
}

// tryLater returns the error of a request that is refused because other requests are running.
func tryLater(detail string, seconds int64) error {
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeRateLimited, RetryAfterSeconds: seconds, Detail: detail,
	}}
}

// Turns are the slots for requests to another handler of this process, such as forms in a browser.
// Accounts share them like those of the API.
type Turns struct{ among *slots }

// NewTurns returns at most most turns. Errors use the words for one request and for several.
func NewTurns(most int, one, several string) *Turns {
	return &Turns{&slots{
		most: most, perAccount: max(most/2, 1), perOperator: most, reserve: reserveOf(most),
		full: allHeld(most, several), share: shareHeld(one, several, " under way", "", retryRequestAfter),
	}}
}

// Take takes a turn for an identity, or returns an error if it can't. The zero Identity is for
// callers that need no key. Call leave when the request is answered.
func (t *Turns) Take(who accounts.Identity) (leave func(), err error) {
	of := holderOf(who)
	if err := t.among.take(of); err != nil {
		return nil, err
	}
	return func() { t.among.leave(of) }, nil
}

func holderOf(who accounts.Identity) holder {
	return caller{identity: who, keyless: who.Account.Name == ""}.holder()
}
