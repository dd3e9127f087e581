package apns

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxRetryAfter is the longest Retry-After that is followed.
	MaxRetryAfter = time.Hour
	// defaultPause is the pause of a device or a message without a Retry-After.
	defaultPause = time.Minute
	// maxID bounds the apns-id of an answer, in bytes.
	maxID = 64
)

// step is the next step after an answer.
type step uint8

const (
	settled   step = iota // none: the answer is final
	renew                 // send again with a new provider token
	reconnect             // send again on another connection
	replace               // close the connections, and send again on a new one
	hold                  // sign no provider token for a while
)

// answer is the meaning of a status and a reason.
type answer struct {
	status notifier.Status
	reason notifier.Reason
	pause  notifier.Pause
	step   step
}

// classify returns the meaning of a status other than a success by Apple's reason, and whether the
// reason is known.
func classify(status int, reason string) (answer, bool) {
	switch reason {
	case "BadDeviceToken", "DeviceTokenNotForTopic":
		return answer{notifier.Gone, notifier.ReasonMismatched, 0, settled}, true
	case "Unregistered", "ExpiredToken":
		return answer{notifier.Gone, notifier.ReasonGone, 0, settled}, true
	case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders", "InvalidPushType",
		"PayloadEmpty", "MissingDeviceToken", "BadPath", "MethodNotAllowed":
		return answer{notifier.Permanent, notifier.ReasonRejected, 0, settled}, true
	case "PayloadTooLarge":
		return answer{notifier.Permanent, notifier.ReasonTooLarge, 0, settled}, true
	case "BadTopic", "MissingTopic", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment", "Forbidden",
		"InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
		return answer{notifier.Refused, notifier.ReasonUnauthorized, 0, settled}, true
	case "ExpiredProviderToken":
		// This worker's clock is wrong. Tokens of other workers may be valid.
		return answer{notifier.SlowDown, notifier.ReasonUnavailable, notifier.PauseMessage, renew}, true
	case "UnrelatedKeyIdInToken":
		return answer{notifier.Refused, notifier.ReasonUnauthorized, 0, replace}, true
	case "TooManyProviderTokenUpdates":
		return answer{notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseMessage, hold}, true
	case "TooManyRequests":
		return answer{notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseDevice, settled}, true
	case "InternalServerError":
		return answer{notifier.Retry, notifier.ReasonUnavailable, 0, settled}, true
	case "ServiceUnavailable":
		return answer{notifier.SlowDown, notifier.ReasonUnavailable, notifier.PauseChannel, settled}, true
	case "IdleTimeout", "Shutdown":
		return answer{notifier.Retry, notifier.ReasonUnavailable, 0, reconnect}, true
	default:
		return byStatus(status), false
	}
}

// byStatus returns the meaning of a status with an unknown reason or none. It never means that a
// device is gone: only Apple's reasons do.
func byStatus(status int) answer {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return answer{notifier.Refused, notifier.ReasonUnauthorized, 0, settled}
	case http.StatusTooManyRequests:
		return answer{notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseDevice, settled}
	case http.StatusServiceUnavailable:
		return answer{notifier.SlowDown, notifier.ReasonUnavailable, notifier.PauseChannel, settled}
	}
	means, reason := exchange.ByStatus(status)
	return answer{status: means, reason: reason}
}

// ofMessage returns the meaning of an answer to a push whose topic the message chose. A wrong topic
// does not prove wrong credentials, and a token that does not fit the topic does not prove that the
// device is gone. An unregistered token once fitted the topic.
func ofMessage(meant answer, reason string) answer {
	switch reason {
	case "BadDeviceToken", "DeviceTokenNotForTopic":
		return answer{notifier.Permanent, notifier.ReasonMismatched, 0, settled}
	case "BadTopic", "MissingTopic", "TopicDisallowed":
		return answer{notifier.Permanent, notifier.ReasonRejected, 0, settled}
	default:
		return meant
	}
}

// judge returns the Result of an answer, and the next step. chosen reports whether the message
// chose the topic.
func judge(a exchange.Answer, chosen bool, waits *backoff, now time.Time) (notifier.Result, step) {
	if a.Status >= 200 && a.Status <= 299 {
		waits.reset()
		return notifier.Result{Status: notifier.Delivered, ProviderID: exchange.ProviderID(a.Header.Get("Apns-Id"), maxID)}, settled
	}
	var said struct {
		Reason    string          `json:"reason"`
		Timestamp json.RawMessage `json:"timestamp"`
	}
	if json.Unmarshal(a.Body, &said) != nil {
		said.Reason = "" // malformed JSON has no reason
	}
	meant, known := classify(a.Status, said.Reason)
	if chosen {
		meant = ofMessage(meant, said.Reason)
	}
	text := fmt.Sprintf("Apple's server answered with HTTP status %d", a.Status)
	if known {
		text += ", " + said.Reason
	}
	r := notifier.Result{Status: meant.status, Reason: meant.reason, Pause: meant.pause, Err: fmt.Errorf("%s%s", text, hint(said.Reason))}
	if r.Reason != notifier.ReasonUnavailable {
		waits.reset()
	}
	wait := exchange.RetryAfter(a.Header, now, MaxRetryAfter)
	switch r.Status {
	case notifier.SlowDown:
		switch {
		case wait > 0:
		case r.Pause == notifier.PauseChannel:
			wait = waits.next(now)
		default:
			wait = defaultPause
		}
		r.RetryAfter = exchange.Spread(wait)
	case notifier.Retry:
		r.RetryAfter = exchange.Spread(wait)
	case notifier.Gone:
		r.GoneSince = since(said.Timestamp)
	default:
	}
	return r, meant.step
}

// hint names the likely cause.
func hint(reason string) string {
	switch reason {
	case "BadDeviceToken":
		return ": the token is of the other environment, or was never one"
	case "DeviceTokenNotForTopic":
		return ": the token is of another app than the topic says"
	case "BadTopic", "MissingTopic", "TopicDisallowed":
		return ": the topic is not a bundle id of this team, or lacks the ending of the push type"
	case "ExpiredProviderToken":
		return ": this worker's clock may be wrong"
	case "InvalidProviderToken":
		return ": the key, its id or the team is wrong, or this worker's clock is ahead"
	case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
		return ": the key is of the other environment"
	default:
		return ""
	}
}

// since reads the time from which on Apple knows that a device is gone, in Unix milliseconds. An
// unreadable or absurd time is zero.
func since(timestamp json.RawMessage) time.Time {
	const latest = 253402300799999 // in the year 9999
	var ms int64
	if json.Unmarshal(timestamp, &ms) != nil || ms <= 0 || ms > latest {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
