package api

import (
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
)

// DefaultLookAgain is how often the key of a long answer is checked again.
const DefaultLookAgain = 3 * time.Second

// keyEnded returns a 401 if the key of a running request has stopped working: it was removed, has
// expired or lost the scope, or its account is disabled. While the store is away, the key still
// works.
func (s *server) keyEnded(ctx context.Context) error {
	e := exchangeOf(ctx)
	who := e.caller
	if who.keyless {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Timeout)
	defer cancel()
	account, known, err := s.Accounts.Get(ctx, who.account())
	if err != nil {
		return nil //nolint:swallowed // it is looked at again soon
	}
	works := func(k accounts.APIKey) bool {
		return k.ID == who.identity.Key.ID && (k.ExpiresAt.IsZero() || s.Now().Before(k.ExpiresAt)) &&
			accounts.Identity{Account: account, Key: k}.May(e.scope)
	}
	if known && !account.Disabled && slices.ContainsFunc(account.Keys, works) {
		return nil
	}
	return unauthorized("the key was removed or has expired, or its account is disabled: this answer ends here", "invalid_token")
}

// endEarly ends a stream, and hurries its answer, when the server is about to stop or the key stops
// working. If the server is already stopping, the stream ends before endEarly returns. Call the
// returned function after ctx has ended: it waits for the watching goroutine.
func (s *server) endEarly(ctx context.Context, stop context.CancelCauseFunc, hurry func()) (wait func()) {
	select {
	case <-s.Stopping:
		stop(errStopping)
		hurry()
		return func() {}
	default:
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		again := time.NewTicker(s.Limits.LookAgain)
		defer again.Stop()
		for {
			var why error
			select {
			case <-s.Stopping:
				why = errStopping
			case <-again.C:
				why = s.keyEnded(ctx)
			case <-ctx.Done():
				return
			}
			if why != nil {
				stop(why)
				hurry()
				return
			}
		}
	}()
	return func() { <-done }
}
