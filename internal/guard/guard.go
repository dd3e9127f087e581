package guard

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Func returns call behind admit. A refused call does not run and returns the error of admit.
func Func[C, R, D any](
	admit func(context.Context, C) (D, error), call func(context.Context, C) (R, error),
) func(context.Context, C) (R, error) {
	return func(ctx context.Context, argument C) (R, error) {
		if _, err := admit(ctx, argument); err != nil {
			var none R
			return none, err
		}
		return call(ctx, argument)
	}
}

// Unavailable reports whether a call runs although err says that the store is unavailable: it does
// if tell is set.
func Unavailable(ctx context.Context, err error, tell func(context.Context, error)) bool {
	_, away := errors.AsType[*fault.UnavailableError](err)
	if !away || tell == nil {
		return false
	}
	tell(ctx, err)
	return true
}

// Refuse writes the status and the body of a refused request, after the header fields are set.
type Refuse func(w http.ResponseWriter, r *http.Request, status int, err error)

// retryUnavailable is the Retry-After of answers while the store is unavailable.
const retryUnavailable = time.Second

// Handler returns next behind admit, whose refusals are errors of type E. A refused request does
// not reach next: the answer is 429, or 503 with Retry-After while the store is unavailable. write
// sets the header fields of an answer from the decision, with Retry-After for a refusal. A nil
// refuse writes one line of text.
func Handler[D any, E error](
	admit func(context.Context, *http.Request) (D, error), write func(http.Header, D), next http.Handler, refuse Refuse,
) http.Handler {
	if refuse == nil {
		refuse = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			text := http.StatusText(status)
			if limited, ok := errors.AsType[E](err); ok {
				text = limited.Error()
			}
			http.Error(w, text, status)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := admit(r.Context(), r)
		write(w.Header(), d)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		status := http.StatusInternalServerError
		if _, limited := errors.AsType[E](err); limited {
			status = http.StatusTooManyRequests
		} else if _, away := errors.AsType[*fault.UnavailableError](err); away {
			status = http.StatusServiceUnavailable
			RetryAfter(w.Header(), retryUnavailable)
		}
		refuse(w, r, status, err)
	})
}

// Header fields of draft-ietf-httpapi-ratelimit-headers-10, in the form of an http.Header.
const (
	rateLimitPolicy = "Ratelimit-Policy"
	rateLimit       = "Ratelimit"
)

// ClearRateLimit removes the header fields of AddRateLimit.
func ClearRateLimit(h http.Header) {
	h.Del(rateLimitPolicy)
	h.Del(rateLimit)
}

// AddRateLimit adds a limit to the header fields: its name, 1 to 64 of a-z 0-9 _ -, the limit for a
// period of a length, what remains, and the time until it resets.
func AddRateLimit(h http.Header, name string, limit, remaining int64, length, resetsIn time.Duration) {
	name = `"` + name + `"`
	add := func(field, item string) {
		if before := h.Get(field); before != "" {
			item = before + ", " + item
		}
		h.Set(field, item)
	}
	add(rateLimitPolicy, name+";q="+strconv.FormatInt(limit, 10)+";w="+seconds(length))
	add(rateLimit, name+";r="+strconv.FormatInt(remaining, 10)+";t="+seconds(max(resetsIn, 0)))
}

// RetryAfter sets the header field of a refusal. It sets none for a wait of zero.
func RetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", seconds(wait))
	}
}

// seconds rounds up to whole seconds, so that a client does not come too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
