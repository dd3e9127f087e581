package counters

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// retryUnavailable is what Retry-After says while the store is away.
const retryUnavailable = time.Second

// GuardHandler returns next behind a guard. A request that the guard refuses
// does not reach it, and is answered with 429 and Retry-After; while the store
// is away with 503 and Retry-After. Every answer to a request that was counted
// says in RateLimit-Policy and RateLimit what there is and what is left, see
// WriteRateLimit.
//
// Refuse writes the status and the body, with the header fields in place; nil
// is one line of text. A middleware that the key depends on, such as one that
// authenticates, has to come before.
func GuardHandler(g Guard[*http.Request], next http.Handler, refuse func(w http.ResponseWriter, r *http.Request, status int, err error)) http.Handler {
	if refuse == nil {
		refuse = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			text := http.StatusText(status)
			if limited, ok := errors.AsType[*LimitedError](err); ok {
				text = limited.Error()
			}
			http.Error(w, text, status)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := g.Admit(r.Context(), r)
		WriteRateLimit(w.Header(), d)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		status := http.StatusInternalServerError
		if _, limited := errors.AsType[*LimitedError](err); limited {
			status = http.StatusTooManyRequests
		} else if _, away := errors.AsType[*fault.UnavailableError](err); away {
			status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", seconds(retryUnavailable))
		}
		refuse(w, r, status, err)
	})
}

// WriteRateLimit says in header fields what a Decision of Counters has come to:
// RateLimit-Policy has each counter with its limit q in a period of w seconds,
// RateLimit what remains, r, until it resets in t seconds. They are those of
// draft-ietf-httpapi-ratelimit-headers-10. A refusal has Retry-After as well.
// Without counters there is nothing to say.
func WriteRateLimit(h http.Header, d Decision) {
	if len(d.Counters) == 0 {
		return
	}
	policies, limits := make([]string, len(d.Counters)), make([]string, len(d.Counters))
	for i, u := range d.Counters {
		name := strconv.Quote(u.Counter.Name) // of bytes that a structured field's string may have
		policies[i] = name + ";q=" + strconv.FormatInt(u.Counter.Limit, 10) + ";w=" + seconds(u.Until.Sub(u.From))
		limits[i] = name + ";r=" + strconv.FormatInt(u.Remaining(), 10) + ";t=" + seconds(u.Until.Sub(d.Now))
	}
	h.Set("RateLimit-Policy", strings.Join(policies, ", "))
	h.Set("RateLimit", strings.Join(limits, ", "))
	if !d.Allowed && d.RetryAfter > 0 {
		h.Set("Retry-After", seconds(d.RetryAfter))
	}
}

// seconds rounds up to whole ones: whoever waits for so long has not come too
// early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
