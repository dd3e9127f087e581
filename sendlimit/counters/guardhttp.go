package counters

import (
	"errors"
	"net/http"
	"strconv"
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
	h.Del(rateLimitPolicy)
	h.Del(rateLimit)
	for _, u := range d.Counters {
		AddRateLimit(h, u.Counter.Name, u.Counter.Limit, u.Remaining(), u.Until.Sub(u.From), u.Until.Sub(d.Now))
	}
	if !d.Allowed && d.RetryAfter > 0 {
		h.Set("Retry-After", seconds(d.RetryAfter))
	}
}

// The header fields of draft-ietf-httpapi-ratelimit-headers-10.
const (
	rateLimitPolicy = "RateLimit-Policy"
	rateLimit       = "RateLimit"
)

// AddRateLimit adds one limit to the header fields of WriteRateLimit, such as a
// quota that is no Counter: its name, 1 to 64 of a-z 0-9 _ -, what it allows in a
// period of a length, what remains, and how long until it resets.
func AddRateLimit(h http.Header, name string, limit, remaining int64, length, resetsIn time.Duration) {
	name = strconv.Quote(name) // of bytes that a structured field's string may have
	add := func(field, item string) {
		if before := h.Get(field); before != "" {
			item = before + ", " + item
		}
		h.Set(field, item)
	}
	add(rateLimitPolicy, name+";q="+strconv.FormatInt(limit, 10)+";w="+seconds(length))
	add(rateLimit, name+";r="+strconv.FormatInt(remaining, 10)+";t="+seconds(max(resetsIn, 0)))
}

// seconds rounds up to whole seconds, so that nobody who waits that long comes
// too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
