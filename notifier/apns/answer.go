package apns

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxRetryAfter is the longest Retry-After that is followed.
	MaxRetryAfter = time.Hour
	// defaultPause is how long a device or a message waits if APNs does not say how long, and
	// shortPause how long the channel does.
	defaultPause = time.Minute
	shortPause   = 10 * time.Second
	// lastTime is the end of the year 9999 in Unix milliseconds.
	lastTime = 253402300799999
)

// again says how the channel sends a push once more by itself.
type again uint8

const (
	never             again = iota
	withNewToken            // the provider token has expired
	onNewConnection         // APNs gives up the connection
	onNewConnections        // connections are bound to other credentials
	withThisTokenOnly       // not at once; but tokens change too often
)

// meaning is what an answer means.
type meaning struct {
	status notifier.Status
	reason notifier.Reason
	pause  notifier.Pause // with SlowDown
	wait   time.Duration  // with SlowDown, unless Retry-After says
	again  again
}

// words is the body of an answer.
type words struct {
	Reason    string `json:"reason"`
	Timestamp int64  `json:"timestamp"` // Unix ms; zero for none
}

// judge returns the Result of an answer, and how to send again at once. changed reports whether
// the message, and not a setting, made the topic of the push.
func judge(a exchange.Answer, changed bool, now time.Time) (notifier.Result, again) {
	if a.Status >= 200 && a.Status <= 299 {
		return notifier.Result{Status: notifier.Delivered, ProviderID: receipt(a.Header)}, never
	}
	var w words
	if err := json.Unmarshal(a.Body, &w); err != nil {
		// A member of another type than expected says nothing; the others are read.
		w.Reason = strings.TrimSpace(w.Reason)
	}
	m, known := byReason(w.Reason)
	shown := ", " + w.Reason
	if !known {
		m, shown = byStatus(a.Status, w.Reason != ""), ""
	}
	if changed {
		m = m.ofMessage()
	}
	r := notifier.Result{Status: m.status, Reason: m.reason, Pause: m.pause}
	r.Err = fmt.Errorf("APNs answered with HTTP status %d%s", a.Status, shown)
	switch r.Status {
	case notifier.SlowDown:
		r.RetryAfter = exchange.RetryAfter(a.Header, now, MaxRetryAfter)
		if r.RetryAfter == 0 {
			r.RetryAfter = m.wait
		}
		r.RetryAfter = exchange.Spread(r.RetryAfter)
	case notifier.Retry:
		r.RetryAfter = exchange.Spread(exchange.RetryAfter(a.Header, now, MaxRetryAfter))
	case notifier.Gone:
		if w.Timestamp > 0 && w.Timestamp <= lastTime {
			r.GoneSince = time.UnixMilli(w.Timestamp)
		}
	default:
	}
	return r, m.again
}

// ofMessage returns what m means if the message chose the topic: what is wrong with the topic
// is wrong with the message, and not with the settings or the device.
func (m meaning) ofMessage() meaning {
	if m.reason == notifier.ReasonMismatched || m.status == notifier.Refused && m.reason == notifier.ReasonMisaddressed {
		return meaning{status: notifier.Permanent, reason: m.reason}
	}
	return m
}

// byReason returns what one of APNs' reasons means.
func byReason(reason string) (m meaning, known bool) {
	switch reason {
	case "BadDeviceToken", "DeviceTokenNotForTopic":
		// A wrong setting answers so for all devices.
		return meaning{status: notifier.Gone, reason: notifier.ReasonMismatched}, true
	case "Unregistered", "ExpiredToken":
		return meaning{status: notifier.Gone, reason: notifier.ReasonGone}, true
	case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders", "InvalidPushType", "PayloadEmpty",
		"MissingDeviceToken", "BadPath", "MethodNotAllowed":
		return meaning{status: notifier.Permanent, reason: notifier.ReasonRejected}, true
	case "PayloadTooLarge":
		return meaning{status: notifier.Permanent, reason: notifier.ReasonTooLarge}, true
	case "BadTopic", "MissingTopic", "TopicDisallowed":
		return meaning{status: notifier.Refused, reason: notifier.ReasonMisaddressed}, true
	case "BadCertificate", "BadCertificateEnvironment", "Forbidden", "InvalidProviderToken", "MissingProviderToken",
		"BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
		return meaning{status: notifier.Refused, reason: notifier.ReasonUnauthorized}, true
	case "ExpiredProviderToken":
		return meaning{status: notifier.Refused, reason: notifier.ReasonUnauthorized, again: withNewToken}, true
	case "UnrelatedKeyIdInToken":
		return meaning{status: notifier.Refused, reason: notifier.ReasonUnauthorized, again: onNewConnections}, true
	case "IdleTimeout", "Shutdown":
		return meaning{status: notifier.Retry, reason: notifier.ReasonUnavailable, again: onNewConnection}, true
	case "InternalServerError":
		return meaning{status: notifier.Retry, reason: notifier.ReasonUnavailable}, true
	case "TooManyProviderTokenUpdates":
		return meaning{
			status: notifier.SlowDown, reason: notifier.ReasonRateLimited, pause: notifier.PauseMessage, wait: defaultPause, again: withThisTokenOnly,
		}, true
	case "TooManyRequests":
		return meaning{status: notifier.SlowDown, reason: notifier.ReasonRateLimited, pause: notifier.PauseDevice, wait: defaultPause}, true
	case "ServiceUnavailable":
		return meaning{status: notifier.SlowDown, reason: notifier.ReasonUnavailable, pause: notifier.PauseChannel, wait: shortPause}, true
	}
	return meaning{}, false
}

// byStatus returns what an HTTP status means without one of APNs' known reasons. inWords
// reports whether there was an unknown one: a device is gone only if APNs says so in words.
func byStatus(status int, inWords bool) meaning {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return meaning{status: notifier.Refused, reason: notifier.ReasonUnauthorized}
	case http.StatusGone:
		if inWords {
			return meaning{status: notifier.Gone, reason: notifier.ReasonGone}
		}
	case http.StatusRequestEntityTooLarge:
		return meaning{status: notifier.Permanent, reason: notifier.ReasonTooLarge}
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return meaning{status: notifier.Retry, reason: notifier.ReasonUnavailable}
	case http.StatusTooManyRequests:
		m, _ := byReason("TooManyRequests")
		return m
	case http.StatusServiceUnavailable:
		m, _ := byReason("ServiceUnavailable")
		return m
	}
	switch {
	case status >= 300 && status <= 399:
		// Apple redirects nobody: the endpoint is wrong, for every message.
		return meaning{status: notifier.Refused, reason: notifier.ReasonMisaddressed}
	case status >= 400 && status <= 499:
		return meaning{status: notifier.Permanent, reason: notifier.ReasonRejected}
	default:
		return meaning{status: notifier.Retry, reason: notifier.ReasonUnavailable}
	}
}

// receipt returns APNs' id of a push.
func receipt(header http.Header) string {
	id := header.Get("Apns-Id")
	if len(id) > 64 || strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return ""
	}
	return id
}
