package webhook

import (
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// MaxRetryAfter is the longest Retry-After that is followed, and the default expiry of a message.
const MaxRetryAfter = 24 * time.Hour

// judge returns the Result of an answer by status and headers. ours reports whether the operator
// set the target, not a user of the service.
func judge(status int, header http.Header, ours bool, now time.Time) notifier.Result {
	if status >= 200 && status <= 299 {
		return notifier.Result{Status: notifier.Delivered}
	}
	result := notifier.Result{Err: fmt.Errorf("the webhook answered with HTTP status %d", status)}
	result.Status, result.Reason = classify(status, ours)
	if result.Status == notifier.Retry {
		result.RetryAfter = exchange.RetryAfter(header, now, MaxRetryAfter)
	}
	return result
}

// classify returns the meaning of a status other than a success. A status outside of 100 to 599
// counts as a 5xx (RFC 9110 section 15), and so does a final 1xx.
func classify(status int, ours bool) (notifier.Status, notifier.Reason) {
	if ours {
		switch status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
			// Every message gets this answer, so none fails before somebody repairs it.
			return notifier.Refused, notifier.ReasonUnauthorized
		case http.StatusNotFound:
			// The route may be missing while the receiver is deployed.
			return notifier.Retry, notifier.ReasonMisaddressed
		case http.StatusGone:
			return notifier.Retry, notifier.ReasonGone
		}
	}
	switch status {
	case http.StatusTooManyRequests:
		return notifier.Retry, notifier.ReasonRateLimited
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return notifier.Retry, notifier.ReasonUnavailable
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return notifier.Permanent, notifier.ReasonUnauthorized
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMisdirectedRequest:
		return notifier.Permanent, notifier.ReasonMisaddressed
	case http.StatusGone:
		return notifier.Permanent, notifier.ReasonGone
	}
	switch {
	case status >= 300 && status <= 399:
		return notifier.Permanent, notifier.ReasonRedirected
	case status >= 400 && status <= 499:
		return notifier.Permanent, notifier.ReasonRejected
	default:
		return notifier.Retry, notifier.ReasonUnavailable
	}
}
