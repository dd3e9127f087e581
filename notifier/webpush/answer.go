package webpush

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxRetryAfter is the longest Retry-After that is followed.
	MaxRetryAfter = time.Hour
	// defaultPause is the pause of a host without a Retry-After.
	defaultPause = time.Minute
	// maxReceipt bounds a receipt, in bytes.
	maxReceipt = 512
)

// Mozilla's error numbers, see "Error Codes" in the documentation of its push service.
const (
	errnoBackOff  = 201 // slow down
	errnoTryAgain = 202 // at once
)

// words are a push service's statements in the body of an answer, JSON of its own or text.
type words struct {
	Errno  int    `json:"errno"`  // Mozilla's; zero for none
	Reason string `json:"reason"` // Apple's; "" for none
	text   string
}

// readWords reads the body of an answer, as far as it can be read.
func readWords(body []byte) words {
	var w words
	if err := json.Unmarshal(body, &w); err != nil {
		// Members of a wrong type are ignored, the others are read.
		w.Reason = strings.TrimSpace(w.Reason)
	}
	w.text = strings.ToLower(string(body))
	return w
}

// mismatched reports whether the subscription was made with another VAPID key.
func (w words) mismatched() bool {
	return w.Reason == "VapidPkHashMismatch" || w.says(
		"vapid public key mismatch",                                                                         // Mozilla's
		"unauthorizedregistration", "do not correspond to the credentials used to create the subscriptions", // Google's
		"does not correspond to the sender id used to subscribe this user",
	)
}

// says reports whether the answer contains one of some texts in lower case.
func (w words) says(some ...string) bool {
	return slices.ContainsFunc(some, func(text string) bool { return strings.Contains(w.text, text) })
}

// known returns the part of w that may be shown: a number, or one of Apple's reasons.
func (w words) known() string {
	switch {
	case w.Errno > 0 && w.Errno < 1000:
		return fmt.Sprintf(", errno %d", w.Errno)
	case slices.Contains(appleReasons(), w.Reason):
		return ", " + w.Reason
	default:
		return ""
	}
}

func appleReasons() []string {
	return []string{
		"BadAuthorizationHeader", "BadJwtToken", "BadTtl", "BadUrgency", "BadVapidPublicKey", "BadWebPushRequest", "BadWebPushTopic",
		"ExpiredToken", "InternalServerError", "PayloadTooLarge", "ServiceUnavailable", "TooManyRequests", "Unregistered",
		"VapidPkHashMismatch",
	}
}

// wrongClock reports whether the push service's clock differs from that of the VAPID token.
func (w words) wrongClock() bool {
	return w.says(
		"token has expired", "exp claim must not be more than 24 hours", // Google's
		"auth expired", "auth > 24 hours", "invalid vapid expiry", "token expiration is too long", // Mozilla's
	)
}

// refusesUs reports whether Apple refuses the VAPID token, not this push.
func (w words) refusesUs() bool {
	return w.Reason == "BadJwtToken" || w.Reason == "BadVapidPublicKey" || w.Reason == "BadAuthorizationHeader"
}

// judge returns the Result of a push service's answer. host is the endpoint's.
func judge(a exchange.Answer, host string, now time.Time) notifier.Result {
	if a.Status >= 200 && a.Status <= 299 {
		return notifier.Result{Status: notifier.Delivered, ProviderID: receipt(a.Header)}
	}
	w := readWords(a.Body)
	wait := exchange.RetryAfter(a.Header, now, MaxRetryAfter)
	r := notifier.Result{Err: fmt.Errorf("the push service answered with HTTP status %d%s", a.Status, w.known())}
	r.Status, r.Reason, r.Pause = classify(a.Status, host, w, wait > 0)
	if r.Pause == notifier.PauseMessage {
		r.Err = fmt.Errorf("%w: this worker's clock may be wrong", r.Err)
	}
	switch r.Status {
	case notifier.SlowDown:
		r.RetryAfter = wait
		if wait == 0 {
			r.RetryAfter = defaultPause
		}
		// Mozilla's Retry-After is spread already.
		if w.Errno != errnoBackOff {
			r.RetryAfter = exchange.Spread(r.RetryAfter)
		}
	case notifier.Retry:
		r.RetryAfter = exchange.Spread(wait)
	default:
	}
	return r
}

// classify returns the meaning of a status other than a success. asksToWait reports whether the
// answer has a Retry-After.
func classify(status int, host string, w words, asksToWait bool) (notifier.Status, notifier.Reason, notifier.Pause) {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		switch {
		case w.mismatched():
			return notifier.Gone, notifier.ReasonMismatched, 0
		case w.wrongClock():
			return notifier.SlowDown, notifier.ReasonUnavailable, notifier.PauseMessage
		case status != http.StatusBadRequest || w.refusesUs():
			return notifier.Refused, notifier.ReasonUnauthorized, 0
		}
	case http.StatusNotFound, http.StatusGone:
		// The path of an endpoint contains none of our settings, only the subscription.
		return notifier.Gone, notifier.ReasonGone, 0
	case http.StatusNotAcceptable:
		if host == "notify.windows.com" || strings.HasSuffix(host, ".notify.windows.com") {
			return notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseHost
		}
	case http.StatusTooManyRequests:
		return notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseDevice
	case http.StatusServiceUnavailable:
		if w.Errno == errnoBackOff || asksToWait && w.Errno != errnoTryAgain {
			return notifier.SlowDown, notifier.ReasonUnavailable, notifier.PauseHost
		}
	}
	means, reason := exchange.ByStatus(status)
	return means, reason, 0
}

// receipt returns the message's URL at the push service, or Apple's id.
func receipt(header http.Header) string {
	for _, name := range []string{"Location", "Apns-Id"} {
		if id := exchange.ProviderID(header.Get(name), maxReceipt); id != "" {
			return id
		}
	}
	return ""
}
