package counters

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// retryUnavailable is the Retry-After of answers while the store is away.
const retryUnavailable = time.Second

// GuardHandler returns next behind a guard. A refused request does not reach
// next: the answer is 429 with Retry-After, or 503 with Retry-After while the
// store is away. Every answer to a counted request has the header fields of
// WriteRateLimit.
//
// Refuse writes the status and the body after the header fields are set; nil
// writes one line of text. A middleware that the key depends on, such as
// authentication, must come before this one.
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

// WriteRateLimit writes a Decision into header fields, as
// draft-ietf-httpapi-ratelimit-headers-10 defines them. RateLimit-Policy has the
// limit q of each counter and the length w of its period in seconds. RateLimit
// has what remains, r, and the seconds t until the counter resets. A refusal has
// Retry-After as well. Without counters it writes nothing.
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

// seconds rounds up to whole seconds, so that nobody who waits that long comes
// too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
