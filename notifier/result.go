package notifier

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Status is the outcome of one attempt.
type Status uint8

// The statuses. The zero Status is not valid.
const (
	Delivered Status = iota + 1 // the provider accepted the message
	Retry                       // it may accept it later
	Permanent                   // it will never accept this message
)

// String returns the status for logs and metrics.
func (s Status) String() string {
	switch s {
	case Delivered:
		return "delivered"
	case Retry:
		return "retry"
	case Permanent:
		return "permanent"
	default:
		return fmt.Sprintf("status(%d)", uint8(s))
	}
}

// Result is a channel's answer to one attempt. The zero Result is not valid.
type Result struct {
	Status Status
	// Reason says why it was not delivered; empty if it was.
	Reason Reason
	// RetryAfter is how long the provider asks to wait; zero if it did not say. It is
	// only set with Retry.
	RetryAfter time.Duration
	// ProviderID is the provider's id of the delivered message, if it has one.
	ProviderID string
	// Err has details for the log. It never contains the message, a secret or the
	// receiver's address. It is nil if the message was delivered.
	Err error
}

// Uncertain reports whether the message may or may not have been delivered: to send it
// again may send it twice, not to send it again may lose it.
func (r Result) Uncertain() bool {
	return r.Status == Retry && (r.Reason == ReasonTimeout || r.Reason == ReasonNetwork)
}

// Validate checks that r is a result that a channel may return.
func (r Result) Validate() error {
	switch r.Status {
	case Delivered:
		if r.Reason != "" || r.Err != nil || r.RetryAfter != 0 {
			return errors.New("a delivered result has a reason, an error or a time to retry")
		}
		return nil
	case Retry, Permanent:
	default:
		return fmt.Errorf("%s is none of delivered, retry and permanent", r.Status)
	}
	switch {
	case !slices.Contains(Reasons(), r.Reason):
		return fmt.Errorf("reason %q is not one of the closed set", r.Reason)
	case r.ProviderID != "":
		return errors.New("a result that is not delivered names a provider's message")
	case r.RetryAfter < 0:
		return fmt.Errorf("time to retry %s is negative", r.RetryAfter)
	case r.Status == Permanent && r.RetryAfter != 0:
		return errors.New("a permanent result has a time to retry")
	case r.Status == Permanent && r.Reason.noAnswer():
		return fmt.Errorf("reason %q means no answer came, which is never permanent", r.Reason)
	}
	return nil
}

// Reason says why a message was not delivered. Reasons are a closed set, so that they can
// label a metric.
type Reason string

// The reasons. The first three mean that the provider did not answer, and come only with
// Retry.
const (
	ReasonTimeout      Reason = "timeout"      // no answer in time: uncertain, it may have arrived
	ReasonNetwork      Reason = "network"      // the connection broke before an answer: uncertain
	ReasonUnreachable  Reason = "unreachable"  // no connection was made: certain, nothing was sent
	ReasonRateLimited  Reason = "rate_limited" // the provider limits requests
	ReasonUnavailable  Reason = "unavailable"  // the provider fails or is not ready
	ReasonRejected     Reason = "rejected"     // the provider refuses this message
	ReasonUnauthorized Reason = "unauthorized" // the provider refuses our credentials
	ReasonGone         Reason = "gone"         // the recipient no longer exists
	ReasonRedirected   Reason = "redirected"   // the provider redirects, which is not followed
	ReasonMisaddressed Reason = "misaddressed" // the target does not exist or accepts no messages
)

// Reasons returns every Reason, in the order above.
func Reasons() []Reason {
	return []Reason{
		ReasonTimeout, ReasonNetwork, ReasonUnreachable, ReasonRateLimited, ReasonUnavailable,
		ReasonRejected, ReasonUnauthorized, ReasonGone, ReasonRedirected, ReasonMisaddressed,
	}
}

func (r Reason) noAnswer() bool {
	return r == ReasonTimeout || r == ReasonNetwork || r == ReasonUnreachable
}
