package counters

import (
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/internal/guard"
)

// GuardHandler returns next behind a guard. A refused request does not reach next: the answer is
// 429 with Retry-After, or 503 with Retry-After while the store is unavailable. Every answer to a
// counted request has the header fields of WriteRateLimit.
//
// Refuse writes the status and the body after the header fields are set; nil writes one line of
// text. A middleware that the key depends on, such as authentication, must come before this one.
func GuardHandler(g Guard[*http.Request], next http.Handler, refuse func(w http.ResponseWriter, r *http.Request, status int, err error)) http.Handler {
	return guard.Handler[Decision, *LimitedError](g.Admit, WriteRateLimit, next, refuse)
}

// WriteRateLimit writes a Decision into header fields, as draft-ietf-httpapi-ratelimit-headers-10
// defines them. RateLimit-Policy has the limit q of each counter and the length w of its period in
// seconds. RateLimit has the remaining calls r, and the seconds t until the counter resets. A
// refusal also has Retry-After. Without counters it writes nothing.
func WriteRateLimit(h http.Header, d Decision) {
	if len(d.Counters) == 0 {
		return
	}
	guard.ClearRateLimit(h)
	for _, u := range d.Counters {
		AddRateLimit(h, u.Counter.Name, u.Counter.Limit, u.Remaining(), u.Until.Sub(u.From), u.Until.Sub(d.Now))
	}
	if !d.Allowed {
		guard.RetryAfter(h, d.RetryAfter)
	}
}

// AddRateLimit adds a limit that is no Counter, such as a quota, to the header fields of
// WriteRateLimit: its name, 1 to 64 of a-z 0-9 _ -, the limit for a period of a length, what
// remains, and the time until it resets.
func AddRateLimit(h http.Header, name string, limit, remaining int64, length, resetsIn time.Duration) {
	guard.AddRateLimit(h, name, limit, remaining, length, resetsIn)
}
