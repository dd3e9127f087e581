package api

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// newTurns returns the slots of requests of an expensive kind. busy is the answer if as many
// are under way as may be: what is under way, how many run at a time, and what to do. whose
// is what an account has under way, after its number. One turn has no shares.
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

// awaitTurn is await for at most turnWithin. Accounts that wait get their turns by rotation, so
// that how much one of them asks for makes no other one wait for more than a turn of each.
func (p *slots) awaitTurn(ctx context.Context, of holder) error {
	ctx, done := context.WithTimeout(ctx, turnWithin)
	defer done()
	return p.await(ctx, of)
}

// tryLater returns the error of a request that is refused because of others that are under
// way.
func tryLater(detail string, seconds int64) error {
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeRateLimited, RetryAfterSeconds: seconds, Detail: detail,
	}}
}

// Turns are the slots of requests that another handler of this process answers, such as those
// for which a browser sends a form. They are shared out among accounts like those of the API.
type Turns struct{ among *slots }

// NewTurns returns turns, most at a time, of requests with these words for one and for several.
func NewTurns(most int, one, several string) *Turns {
	return &Turns{&slots{
		most: most, perAccount: max(most/2, 1), perOperator: most, reserve: reserveOf(most),
		full: allHeld(most, several), share: shareHeld(one, several, " under way", "", retryRequestAfter),
	}}
}

// Take takes a turn for an identity, or returns why there is none. The zero Identity is for
// who needs no key. Call leave when the request is answered.
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
