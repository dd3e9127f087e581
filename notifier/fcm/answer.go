package fcm

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
	// MaxRetryAfter is the longest wait that is followed.
	MaxRetryAfter = time.Hour
	// quotaWait is how long a quota is left alone at first if the answer does not say, and
	// serverWait how long a server that fails.
	quotaWait, serverWait = time.Minute, 10 * time.Second
	// platformWait is how long the messages to a platform wait whose key Google lacks.
	platformWait = 10 * time.Minute
)

// words is what Google says in the body of an answer.
type words struct {
	Name  string `json:"name"` // of a message that was accepted
	Error struct {
		Status  string   `json:"status"`
		Message string   `json:"message"`
		Details []detail `json:"details"`
	} `json:"error"`
}

type detail struct {
	Type            string `json:"@type"`
	ErrorCode       string `json:"errorCode"`
	FieldViolations []struct {
		Field string `json:"field"`
	} `json:"fieldViolations"`
	Violations []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"violations"`
}

// readWords reads the body of an answer. What can't be read says nothing.
func readWords(body []byte) words {
	var w words
	if json.Unmarshal(body, &w) != nil {
		return words{}
	}
	return w
}

// code returns FCM's own word; "" if there is none. The status alone never means that a token
// is gone: a wrong project answers 404 for all of them.
func (w words) code() string {
	for _, d := range w.Error.Details {
		if strings.HasSuffix(d.Type, "google.firebase.fcm.v1.FcmError") && d.ErrorCode != "" {
			return d.ErrorCode
		}
	}
	return ""
}

// field returns the first field that is called wrong.
func (w words) field() string {
	for _, d := range w.Error.Details {
		if strings.HasSuffix(d.Type, "google.rpc.BadRequest") && len(d.FieldViolations) > 0 {
			return d.FieldViolations[0].Field
		}
	}
	return ""
}

// quota returns what waits for a quota.
func (w words) quota() notifier.Pause {
	for _, d := range w.Error.Details {
		if !strings.HasSuffix(d.Type, "google.rpc.QuotaFailure") {
			continue
		}
		for _, v := range d.Violations {
			text := strings.ToLower(v.Subject + " " + v.Description)
			switch {
			case strings.Contains(text, "device"), strings.Contains(text, "registration"):
				return notifier.PauseDevice
			case strings.Contains(text, "topic"):
				return notifier.PauseMessage
			}
		}
	}
	return notifier.PauseChannel
}

// known returns what may be shown of w.
func (w words) known() string {
	for _, word := range []string{w.code(), w.Error.Status} {
		if slices.Contains(knownWords(), word) {
			return word
		}
	}
	return ""
}

func knownWords() []string {
	return []string{
		"INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "SENDER_ID_MISMATCH",
		"THIRD_PARTY_AUTH_ERROR", "UNAUTHENTICATED", "UNAVAILABLE", "UNREGISTERED", "UNSPECIFIED_ERROR",
	}
}

// fields are the fields of a message that an error may name. A field of its data is the
// caller's.
func knownField(path string) string {
	path = strings.TrimPrefix(path, "message.")
	if top, _, _ := strings.Cut(path, "."); slices.Contains([]string{"token", "notification", "android", "apns", "webpush", "fcm_options"}, top) &&
		len(path) <= 64 && strings.IndexFunc(path, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '.' && r != '_' && r != '-'
	}) < 0 {
		return path
	}
	if strings.HasPrefix(path, "data") {
		return "data"
	}
	return ""
}

func statusError(who string, status int, word string) error {
	if word != "" {
		word = ", " + word
	}
	return fmt.Errorf("%s answered with HTTP status %d%s", who, status, word)
}

// verdict is what an answer means beside its Result.
type verdict uint8

const (
	asItIs        verdict = iota
	staleToken            // our bearer token is refused: another may be accepted
	maybeMisnamed         // either the device's token or the message is malformed
)

// judge returns what an answer means. waits is how often in a row Google asked to wait.
func judge(a exchange.Answer, now time.Time, waits int) (notifier.Result, verdict) {
	w := readWords(a.Body)
	if a.Status >= 200 && a.Status <= 299 {
		return notifier.Result{Status: notifier.Delivered, ProviderID: providerID(w.Name)}, asItIs
	}
	r := notifier.Result{Err: statusError("FCM", a.Status, w.known())}
	asked := exchange.RetryAfter(a.Header, now, MaxRetryAfter)
	slow := func(pause notifier.Pause, reason notifier.Reason, first time.Duration) notifier.Result {
		r.Status, r.Reason, r.Pause, r.RetryAfter = notifier.SlowDown, reason, pause, exchange.Spread(asked)
		if asked == 0 {
			r.RetryAfter = exchange.Spread(min(first<<min(waits, 10), MaxRetryAfter))
		}
		return r
	}
	end := func(status notifier.Status, reason notifier.Reason) notifier.Result {
		r.Status, r.Reason = status, reason
		return r
	}
	switch code := w.code(); code {
	case "UNREGISTERED":
		return end(notifier.Gone, notifier.ReasonGone), asItIs
	case "SENDER_ID_MISMATCH":
		return end(notifier.Gone, notifier.ReasonMismatched), asItIs
	case "THIRD_PARTY_AUTH_ERROR":
		r.Err = fmt.Errorf("%w: the project lacks the key of this device's platform, or has a wrong one", r.Err)
		asked = platformWait
		return slow(notifier.PauseDevice, notifier.ReasonUnavailable, platformWait), asItIs
	case "QUOTA_EXCEEDED":
		return slow(w.quota(), notifier.ReasonRateLimited, quotaWait), asItIs
	case "UNAVAILABLE":
		return slow(notifier.PauseChannel, notifier.ReasonUnavailable, serverWait), asItIs
	case "INTERNAL":
		return retry(r, asked), asItIs
	case "INVALID_ARGUMENT":
		if w.field() == "" && strings.Contains(strings.ToLower(w.Error.Message), "registration token is not") {
			return end(notifier.Permanent, notifier.ReasonRejected), maybeMisnamed
		}
	}
	switch a.Status {
	case http.StatusBadRequest:
		if field := knownField(w.field()); field != "" {
			r.Err = fmt.Errorf("%w: its %s is wrong", r.Err, field)
		}
		return end(notifier.Permanent, notifier.ReasonRejected), asItIs
	case http.StatusUnauthorized:
		return end(notifier.Refused, notifier.ReasonUnauthorized), staleToken
	case http.StatusForbidden:
		return end(notifier.Refused, notifier.ReasonUnauthorized), asItIs
	case http.StatusNotFound:
		return end(notifier.Refused, notifier.ReasonMisaddressed), asItIs
	case http.StatusRequestEntityTooLarge:
		return end(notifier.Permanent, notifier.ReasonTooLarge), asItIs
	case http.StatusTooManyRequests:
		return slow(w.quota(), notifier.ReasonRateLimited, quotaWait), asItIs
	case http.StatusServiceUnavailable:
		return slow(notifier.PauseChannel, notifier.ReasonUnavailable, serverWait), asItIs
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return retry(r, asked), asItIs
	}
	switch {
	case a.Status >= 300 && a.Status <= 399:
		return end(notifier.Permanent, notifier.ReasonRedirected), asItIs
	case a.Status >= 400 && a.Status <= 499:
		return end(notifier.Permanent, notifier.ReasonRejected), asItIs
	default:
		return retry(r, asked), asItIs
	}
}

// retry is the Result of a server that failed. It is asked again after 10 seconds at the
// earliest.
func retry(r notifier.Result, asked time.Duration) notifier.Result {
	r.Status, r.Reason, r.RetryAfter = notifier.Retry, notifier.ReasonUnavailable, exchange.Spread(max(asked, serverWait))
	return r
}

// providerID returns Google's name of a message, if it can be one.
func providerID(name string) string {
	if len(name) > 256 || strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return ""
	}
	return name
}
