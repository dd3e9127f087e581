package rate

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/internal/guard"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Limiter is a *Permits or a *TokenBucket.
type Limiter interface {
	// admit takes n permits, or n tokens of a key.
	admit(ctx context.Context, key string, n int64) (Grant, error)
	// label names the limit in header fields.
	label() string
}

// admit takes permits of the name, or of this client; the key does not matter.
func (p *Permits) admit(ctx context.Context, _ string, n int64) (Grant, error) {
	return p.Acquire(ctx, PermitRequest{Token: keyspace.NewToken(), Permits: n})
}

func (p *Permits) label() string { return p.name }

func (b *TokenBucket) label() string { return "tokens" }

func (b *TokenBucket) admit(ctx context.Context, key string, n int64) (Grant, error) {
	return b.Take(ctx, TokenRequest{Key: key, Tokens: n})
}

// Guard limits the calls of a function or of an http.Handler by Permits or a TokenBucket, as
// counters.Guard does by Counters: it refuses a call before it runs. Use Guarded for functions,
// GuardHandler for handlers and Admit for everything else.
//
// A refusal is a *LimitedError; its Grant says when to call again. If the store is unavailable,
// calls are refused with an *UnavailableError, unless OnUnavailable is set. A call that was
// admitted and then fails keeps what it took.
type Guard[C any] struct {
	Limiter Limiter
	// Key returns the bucket of a call. A call with the key "" is not limited. Permits have no
	// keys: nil limits all calls together, and a Key only says which calls are limited. A
	// TokenBucket needs it.
	Key func(ctx context.Context, call C) string
	// Cost returns how many permits or tokens a call takes; nil means one.
	Cost func(ctx context.Context, call C) int64
	// OnUnavailable, if set, lets calls run while the store is unavailable. It is called with the
	// reason for each of them, to count or log it.
	OnUnavailable func(ctx context.Context, err error)
}

// LimitedError is returned when a Guard refuses a call: the call has not run.
type LimitedError struct {
	Key   string
	Grant Grant // says when to try again
}

// Error says when to try again. It leaves out the key, which may be a secret.
func (e *LimitedError) Error() string {
	return fmt.Sprintf("too many calls: try again in %s", e.Grant.RetryAfter)
}

// Code returns the Grant's code, CodeRateLimited.
func (e *LimitedError) Code() fault.Code { return e.Grant.Code }

// Admit takes the permits or tokens of a call, or refuses it with a *LimitedError; it returns the
// Grant in both cases. A call that is not limited, because it has no key or the store is
// unavailable, gets an Allowed Grant without times.
func (g Guard[C]) Admit(ctx context.Context, call C) (Grant, error) {
	key, n := "", int64(1)
	if g.Key != nil {
		if key = g.Key(ctx, call); key == "" {
			return Grant{Allowed: true}, nil
		}
	}
	if g.Cost != nil {
		n = g.Cost(ctx, call)
	}
	grant, err := g.Limiter.admit(ctx, key, n)
	if err != nil {
		if guard.Unavailable(ctx, err, g.OnUnavailable) {
			return Grant{Allowed: true}, nil
		}
		return Grant{}, err
	}
	if !grant.Allowed {
		return grant, &LimitedError{Key: key, Grant: grant}
	}
	return grant, nil
}

// Guarded returns call behind a guard. A refused call does not run and returns the error of Admit.
func Guarded[C, R any](g Guard[C], call func(context.Context, C) (R, error)) func(context.Context, C) (R, error) {
	return guard.Func(g.Admit, call)
}

// GuardHandler returns next behind a guard. A refused request does not reach next: the answer is
// 429 with Retry-After, or 503 with Retry-After while the store is unavailable. Every answer to a
// limited request has the header fields of counters.WriteRateLimit, for a limit with the name of
// the Permits, or "tokens". Refuse writes the status and the body; nil writes one line of text.
func GuardHandler(g Guard[*http.Request], next http.Handler, refuse func(w http.ResponseWriter, r *http.Request, status int, err error)) http.Handler {
	return guard.Handler[Grant, *LimitedError](g.Admit, g.writeRateLimit, next, refuse)
}

// writeRateLimit writes a Grant into header fields. A call that was not limited gets none.
func (g Guard[C]) writeRateLimit(h http.Header, d Grant) {
	if d.Limit == 0 {
		return
	}
	guard.ClearRateLimit(h)
	guard.AddRateLimit(h, g.Limiter.label(), d.Limit, d.Remaining, d.Interval, d.ResetsAt.Sub(d.Now))
	if !d.Allowed {
		guard.RetryAfter(h, d.RetryAfter)
	}
}
