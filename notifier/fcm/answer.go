package fcm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// maxName bounds the name of a message, in bytes.
const maxName = 512

// The codes of an FcmError.
const (
	codeInvalid      = "INVALID_ARGUMENT"
	codeUnregistered = "UNREGISTERED"
	codeMismatch     = "SENDER_ID_MISMATCH"
	codeQuota        = "QUOTA_EXCEEDED"
	codeUnavailable  = "UNAVAILABLE"
	codeInternal     = "INTERNAL"
	codeThirdParty   = "THIRD_PARTY_AUTH_ERROR"
	codeUnspecified  = "UNSPECIFIED_ERROR"
)

// again is set if an answer is not final.
type again uint8

const (
	_            again = iota
	renewToken         // our bearer token may be stale
	askOtherwise       // the device's token is malformed, unless the message is
)

// words are FCM's statements in the body of an answer.
type words struct {
	name   string   // of the accepted message
	status string   // the generic status
	code   string   // of the FcmError; "" for none
	text   string   // in lower case
	fields []string // wrong ones
	quotas []string // exhausted ones: "device", "topic" or "project"
}

// readWords reads the body of an answer, as far as it can be read.
func readWords(body []byte) words {
	var said struct {
		Name  string `json:"name"`
		Error struct {
			Status  string            `json:"status"`
			Message string            `json:"message"`
			Details []json.RawMessage `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // members of a wrong type are ignored, the others are read
	w := words{name: said.Name, status: said.Error.Status, text: strings.ToLower(said.Error.Message)}
	for _, raw := range said.Error.Details {
		var detail struct {
			Type      string `json:"@type"`
			ErrorCode string `json:"errorCode"`
			Fields    []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
			Quotas []struct {
				Subject     string `json:"subject"`
				Description string `json:"description"`
			} `json:"violations"`
		}
		_ = json.Unmarshal(raw, &detail)
		switch {
		case strings.HasSuffix(detail.Type, "google.firebase.fcm.v1.FcmError"):
			w.code = detail.ErrorCode
		case strings.HasSuffix(detail.Type, "google.rpc.BadRequest"):
			for _, violation := range detail.Fields {
				w.fields = append(w.fields, violation.Field)
			}
		case strings.HasSuffix(detail.Type, "google.rpc.QuotaFailure"):
			for _, violation := range detail.Quotas {
				w.quotas = append(w.quotas, quota(violation.Subject, violation.Description))
			}
		}
	}
	return w
}

// quota returns the owner of an exhausted quota. An unknown one is the project's, for which
// everything waits, since a project may have any name.
func quota(subject, description string) string {
	kind, _, _ := strings.Cut(strings.ToLower(subject), ":")
	description = strings.ToLower(description)
	for _, known := range []string{"device", "topic"} {
		if kind == known || strings.HasPrefix(description, known) || strings.Contains(description, known+" message rate") {
			return known
		}
	}
	return "project"
}

// pause returns what waits for a quota. FCM documents that an answer without an owner is about the
// target.
func (w words) pause() notifier.Pause {
	switch {
	case slices.Contains(w.quotas, "project"), strings.Contains(w.text, "quota metric"): // of a project
		return notifier.PauseChannel
	case len(w.quotas) == 0:
		return notifier.PauseDevice
	case slices.Contains(w.quotas, "device"):
		return notifier.PauseDevice
	default:
		return notifier.PauseMessage
	}
}

// blamesToken reports whether FCM says that the device's token is malformed.
func (w words) blamesToken() bool {
	for _, field := range w.fields {
		if field != "message.token" {
			return false
		}
	}
	return w.code == codeInvalid && (len(w.fields) > 0 || strings.Contains(w.text, "registration token is not"))
}

// known returns the part of w that may be shown: one of FCM's codes, and the wrong fields.
func (w words) known() string {
	var all strings.Builder
	for _, word := range []string{w.code, w.status} {
		if slices.Contains([]string{
			codeInvalid, codeUnregistered, codeMismatch, codeQuota, codeUnavailable, codeInternal, codeThirdParty, codeUnspecified,
			"UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "RESOURCE_EXHAUSTED",
		}, word) {
			all.WriteString(", " + word)
			break
		}
	}
	for i, field := range w.fields {
		if shown := showField(field); shown != "" && i < 3 {
			all.WriteString(", field " + shown)
		}
	}
	return all.String()
}

// showField returns the beginning of a field's path, without what may come from the message.
func showField(path string) string {
	var shown []string
	for part := range strings.SplitSeq(path, ".") {
		name, _, _ := strings.Cut(part, "[")
		if !slices.Contains([]string{
			"message", "token", "data", "notification", "title", "body", "image", "android", "ttl", "priority", "collapse_key",
			"tag", "sound", "notification_count", "click_action", "channel_id", "apns", "headers", "payload", "aps", "webpush",
			"fcm_options", "link", "analytics_label", "restricted_package_name",
		}, name) {
			break
		}
		shown = append(shown, name)
	}
	if len(shown) > 5 {
		return ""
	}
	return strings.Join(shown, ".")
}

// judge returns the Result of FCM's answer without its wait, and whether it is final. asksToWait
// reports whether the answer has a Retry-After.
func judge(a exchange.Answer, asksToWait bool) (notifier.Result, again) {
	w := readWords(a.Body)
	if a.Status >= 200 && a.Status <= 299 {
		return notifier.Result{Status: notifier.Delivered, ProviderID: exchange.ProviderID(w.name, maxName)}, 0
	}
	r := notifier.Result{Err: fmt.Errorf("FCM answered with HTTP status %d%s", a.Status, w.known())}
	var more again
	r.Status, r.Reason, more = classify(a.Status, w, asksToWait)
	if r.Status == notifier.SlowDown {
		r.Pause = notifier.PauseChannel
		switch {
		case w.code == codeThirdParty:
			r.Pause = notifier.PauseDevice
			r.Err = fmt.Errorf("%w: the project's APNs key or Web Push key is missing or wrong", r.Err)
		case a.Status == http.StatusTooManyRequests:
			r.Pause = w.pause()
		}
	}
	return r, more
}

// classify returns the meaning of a status other than a success.
func classify(status int, w words, asksToWait bool) (notifier.Status, notifier.Reason, again) {
	switch status {
	case http.StatusBadRequest:
		switch {
		case w.blamesToken():
			return notifier.Permanent, notifier.ReasonRejected, askOtherwise
		case strings.Contains(w.text, "too big"):
			return notifier.Permanent, notifier.ReasonTooLarge, 0
		}
	case http.StatusUnauthorized:
		if w.code == codeThirdParty {
			return notifier.SlowDown, notifier.ReasonUnavailable, 0
		}
		return notifier.Refused, notifier.ReasonUnauthorized, renewToken
	case http.StatusForbidden:
		if w.code == codeMismatch {
			return notifier.Gone, notifier.ReasonMismatched, 0
		}
		return notifier.Refused, notifier.ReasonUnauthorized, 0
	case http.StatusNotFound:
		if w.code == codeUnregistered {
			return notifier.Gone, notifier.ReasonGone, 0
		}
		return notifier.Refused, notifier.ReasonMisaddressed, 0
	case http.StatusServiceUnavailable:
		if w.code == codeUnavailable || w.status == codeUnavailable || asksToWait {
			return notifier.SlowDown, notifier.ReasonUnavailable, 0
		}
	}
	means, reason := exchange.ByStatus(status)
	return means, reason, 0
}

// failed reports an internal error, for which FCM asks for a backoff from 10 seconds.
func (w words) failed() bool { return w.code == codeInternal || w.status == codeInternal }
