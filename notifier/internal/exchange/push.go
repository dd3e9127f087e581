package exchange

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/notifier"
)

// fieldMessage is the field of the error for a message that is too large.
const fieldMessage = "message"

// CheckSize returns a *notifier.InvalidError if a push is longer than a provider takes, in
// bytes. channel is the one whose part of the message counts.
func CheckSize(length, longest int, provider, channel string) error {
	if length <= longest {
		return nil
	}
	return &notifier.InvalidError{
		Field: fieldMessage, Value: fmt.Sprintf("%d bytes", length),
		Want: fmt.Sprintf("at most %d bytes as JSON in %s, with title, body, data, URLs and channels.%s", longest, provider, channel),
	}
}

// RefusedBeforehand returns the Result of a message that can't be pushed. Values of the message
// are not for the log.
func RefusedBeforehand(err error) notifier.Result {
	invalid, ok := errors.AsType[*notifier.InvalidError](err)
	switch {
	case !ok:
		return NotSent(notifier.ReasonRejected, err)
	case invalid.Field == fieldMessage:
		return NotSent(notifier.ReasonTooLarge, err)
	default:
		return NotSent(notifier.ReasonRejected, fmt.Errorf("its %s is not allowed", invalid.Field))
	}
}

// NotSent returns the Result of a push that is not tried.
func NotSent(reason notifier.Reason, err error) notifier.Result {
	return notifier.Result{Status: notifier.Permanent, Reason: reason, Err: fmt.Errorf("the push was not sent: %w", err)}
}

// ByStatus returns what a status other than a success means to a push if the provider says
// nothing else of it.
func ByStatus(status int) (notifier.Status, notifier.Reason) {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return notifier.Permanent, notifier.ReasonTooLarge
	case status == http.StatusTooManyRequests:
		return notifier.SlowDown, notifier.ReasonRateLimited
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return notifier.Retry, notifier.ReasonUnavailable
	case status >= 300 && status <= 399:
		return notifier.Permanent, notifier.ReasonRedirected
	case status >= 400 && status <= 499:
		return notifier.Permanent, notifier.ReasonRejected
	default:
		return notifier.Retry, notifier.ReasonUnavailable
	}
}
