package exchange

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/notifier"
)

// fieldMessage is the field of errors about the size of a message.
const fieldMessage = "message"

// CheckSize returns a *notifier.InvalidError if a push is longer than a provider accepts, in bytes.
// channel is the one whose additions count.
func CheckSize(length, longest int, provider, channel string) error {
	if length <= longest {
		return nil
	}
	return &notifier.InvalidError{
		Field: fieldMessage, Value: fmt.Sprintf("%d bytes", length),
		Want: fmt.Sprintf("at most %d bytes as JSON in %s, with title, body, data, URLs and channels.%s", longest, provider, channel),
	}
}

// RefusedBeforehand returns the Result of a message that can't be pushed. It does not show values
// of the message.
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

// NotSent returns the Result of a push without a request.
func NotSent(reason notifier.Reason, err error) notifier.Result {
	return notifier.Result{Status: notifier.Permanent, Reason: reason, Err: fmt.Errorf("the push was not sent: %w", err)}
}

// ByStatus returns the meaning of a status other than a success if the provider says nothing more
// specific.
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
