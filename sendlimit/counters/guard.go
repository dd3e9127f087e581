package counters

import (
	"context"
	"errors"
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Guard limits the calls of a function or of an http.Handler: it counts each by
// the event that it is and the key that it is for, and refuses it before it
// runs. See Guarded for functions and GuardHandler for handlers; Admit is for
// everything else, such as the middleware of a framework.
//
// A refusal is a *LimitedError; when to call again is in its Decision. Changed
// limits of the event hold from the next call on, see Counters.
//
// When the store is away, calls are refused with an *UnavailableError, unless
// OnUnavailable lets them run: whoever is guarded against would have to take the
// store away first. A call that was admitted and then fails stays counted.
//
// A Guard counts calls. How many may run at a time is no business of a counter:
// a semaphore does that in one process.
type Guard[C any] struct {
	Counters *Counters
	// Event names what the calls are; its limits are looked up in the store, see
	// EventStore. "" is none, and Extra has all limits.
	Event string
	// Key is whose limits a call uses up; "" lets it run uncounted.
	Key func(ctx context.Context, call C) string
	// Extra are limits beside those of the event, such as those of the caller's
	// tier; nil is none.
	Extra func(ctx context.Context, call C) []Counter
	// OnUnavailable, where it is not nil, has calls run while the store is
	// away, and is told of each with the reason, to be counted or logged.
	OnUnavailable func(ctx context.Context, err error)
}

// LimitedError is returned when a Guard refuses a call: it has not run.
type LimitedError struct {
	Event    string
	Key      string
	Decision Decision // says which counter refuses, and when to try again
}

// Error says which counter refuses and when to try again; not the key, which
// may be a secret.
func (e *LimitedError) Error() string {
	d := e.Decision
	limit := d.Counter
	for _, u := range d.Counters {
		if u.Counter.Name == d.Counter {
			limit = fmt.Sprintf("%s, which allows %s", d.Counter, u.Counter)
		}
	}
	return fmt.Sprintf("too many calls for the counter %s: try again in %s", limit, d.RetryAfter)
}

// Code returns the Decision's code, CodeRateLimited.
func (e *LimitedError) Code() fault.Code { return e.Decision.Code }

// Admit counts a call, or refuses it with a *LimitedError, whose Decision it
// returns as well. A call that is not counted, for want of a key or of the
// store, has a Decision without Counters.
func (g Guard[C]) Admit(ctx context.Context, call C) (Decision, error) {
	key := g.Key(ctx, call)
	if key == "" {
		return Decision{Allowed: true}, nil
	}
	request := Request{Event: g.Event, Key: key}
	if g.Extra != nil {
		request.Counters = g.Extra(ctx, call)
	}
	if request.Event == "" && len(request.Counters) == 0 {
		return Decision{Allowed: true}, nil
	}
	d, err := g.Counters.Count(ctx, request)
	if err != nil {
		if _, away := errors.AsType[*fault.UnavailableError](err); away && g.OnUnavailable != nil {
			g.OnUnavailable(ctx, err)
			return Decision{Allowed: true}, nil
		}
		return Decision{}, err
	}
	if !d.Allowed {
		return d, &LimitedError{Event: g.Event, Key: key, Decision: d}
	}
	return d, nil
}

// Guarded returns call behind a guard: what the guard refuses does not run, and
// gives the error of Admit.
func Guarded[C, R any](g Guard[C], call func(context.Context, C) (R, error)) func(context.Context, C) (R, error) {
	return func(ctx context.Context, argument C) (R, error) {
		if _, err := g.Admit(ctx, argument); err != nil {
			var none R
			return none, err
		}
		return call(ctx, argument)
	}
}
