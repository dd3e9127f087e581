package api

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	// longestLineWait is how long a batch waits for one line of its account's lines_per_minute.
	// Clients close a stream without answers for longer.
	longestLineWait = 20 * time.Second
	// longestPaced is how long a batch waits for its lines in total. Then it frees its slot.
	longestPaced = 10 * time.Minute
	// maxLinesAtOnce is the largest number of lines that are taken in one round trip.
	maxLinesAtOnce = 100
)

// linePace slows a batch down to the lines_per_minute of its account's tier. A caller without an
// account is not slowed down.
type linePace struct {
	server  *server
	account string

	looked    time.Time // when the tier was last read
	perMinute int64     // zero for no limit
	left      int64     // lines that are taken and not read
	waited    time.Duration
}

func (s *server) newLinePace(ctx context.Context) *linePace {
	who := callerOf(ctx)
	return &linePace{server: s, account: who.account(), perMinute: who.identity.Tier.LinesPerMinute, looked: s.Now()}
}

// next waits until a line may be judged. A *refusal means that the line should come later.
func (p *linePace) next(ctx context.Context) error {
	if p.account == "" {
		return nil
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	if p.left > 0 {
		p.left--
		return nil
	}
	if p.perMinute == 0 {
		return nil
	}
	// Take a tenth of a second's lines, so that few must be given back.
	n := min(max(p.perMinute/600, 1), maxLinesAtOnce)
	for {
		g, err := p.server.Charges.TakeLines(ctx, p.account, p.perMinute, n)
		switch {
		case err != nil:
			return err
		case g.Allowed:
			p.left = n - 1
			return nil
		case g.Remaining > 0:
			n = g.Remaining
			continue
		}
		if p.waited += g.RetryAfter; g.RetryAfter > longestLineWait || p.waited > longestPaced {
			return p.tooFast(g.RetryAfter)
		}
		timer := time.NewTimer(g.RetryAfter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for a line: %w", ctx.Err())
		}
	}
}

// look reads the tier once a second, since a batch can last for hours. It ends the batch of an
// account that was disabled.
func (p *linePace) look(ctx context.Context) error {
	now := p.server.Now()
	if now.Sub(p.looked) < loginFresh {
		return nil
	}
	account, tier, ok, err := p.server.Accounts.Resolve(ctx, p.account)
	if err != nil {
		return err
	}
	if !ok || account.Disabled {
		return &refusal{message.Outcome{Code: fault.CodeUnauthorized, Detail: "the account is disabled"}}
	}
	if tier.LinesPerMinute == 0 {
		p.left = 0
	}
	p.looked, p.perMinute = now, tier.LinesPerMinute
	return nil
}

func (p *linePace) tooFast(wait time.Duration) error {
	seconds := int64((wait + time.Second - 1) / time.Second)
	return &refusal{message.Outcome{
		Code: fault.CodeRateLimited, RetryAfterSeconds: seconds,
		Detail: fmt.Sprintf("the account's %d lines per minute are used up: send the rest in %d seconds", p.perMinute, seconds),
	}}
}

// end gives back unused lines. If the store is away, they are lost until the counter refills.
func (p *linePace) end(ctx context.Context) {
	if p.left == 0 || p.perMinute == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastAnswerWithin)
	defer cancel()
	_ = p.server.Charges.GiveLinesBack(ctx, p.account, p.perMinute, p.left)
}
