package counters

import (
	"context"
	"fmt"

	"github.com/sendlimit/sendlimiter/internal/guard"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Guard limits the calls of a function or of an http.Handler. It counts each call by its event and
// its key, and refuses it before it runs. Use Guarded for functions, GuardHandler for handlers and
// Admit for everything else, such as the middleware of a framework.
//
// A refusal is a *LimitedError; its Decision says when to call again. A changed limit of the event
// takes effect with the next call.
//
// If the store is unavailable, calls are refused with an *UnavailableError, unless OnUnavailable is
// set: otherwise an attacker would only have to bring the store down. A call that was admitted and
// then fails stays counted.
//
// A Guard does not limit how many calls run at the same time; use a semaphore for that.
type Guard[C any] struct {
	Counters *Counters
	// Event is what the calls are. Its limits are in the store, see Events. "" means no event: only
	// Extra limits.
	Event string
	// Key returns whose limits apply to a call. A call with the key "" is not counted.
	Key func(ctx context.Context, call C) string
	// Extra returns limits besides those of the event, such as those of the caller's tier; nil
	// means none.
	Extra func(ctx context.Context, call C) []Counter
	// OnUnavailable, if set, lets calls run while the store is unavailable. It is called with the
	// reason for each of them, to count or log it.
	OnUnavailable func(ctx context.Context, err error)
	// OnNotices, if set, is called with the ids of the alerts that a call raised, to deliver them
	// at once. They are in the outbox in any case.
	OnNotices func(ctx context.Context, notices []string)
}

// LimitedError is returned when a Guard refuses a call: the call has not run.
type LimitedError struct {
	Event    string
	Key      string
	Decision Decision // says which counter refuses, and when to try again
}

// Error says which counter refuses and when to try again. It leaves out the key, which may be a
// secret.
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

// Admit counts a call, or refuses it with a *LimitedError; it returns the Decision in both cases. A
// call that was not counted, because it has no key or the store is unavailable, gets a Decision
// without Counters.
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
		if guard.Unavailable(ctx, err, g.OnUnavailable) {
			return Decision{Allowed: true}, nil
		}
		return Decision{}, err
	}
	if len(d.Notices) > 0 && g.OnNotices != nil {
		g.OnNotices(ctx, d.Notices)
	}
	if !d.Allowed {
		return d, &LimitedError{Event: g.Event, Key: key, Decision: d}
	}
	return d, nil
}

// Guarded returns call behind a guard. A refused call does not run and returns the error of Admit.
func Guarded[C, R any](g Guard[C], call func(context.Context, C) (R, error)) func(context.Context, C) (R, error) {
	return guard.Func(g.Admit, call)
}
