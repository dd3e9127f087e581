package notifier

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Status says what became of one try.
type Status uint8

// The three answers of a channel. The zero Status is none of them.
const (
	Delivered Status = iota + 1 // the provider took the message
	Retry                       // it may take it later
	Permanent                   // it will never take this message
)

// String returns the status as it stands in logs and metrics.
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

// Result is what a channel says of one try. The zero Result is not valid.
type Result struct {
	Status Status
	// Reason says why it was not delivered; empty when it was.
	Reason Reason
	// RetryAfter is how long the provider asked to wait; zero where it did
	// not say. Only with Retry.
	RetryAfter time.Duration
	// ProviderID is the provider's name for the delivered message, if any.
	ProviderID string
	// Err has the detail for a log line: never the message, a secret, or the
	// address delivered to. Nil when delivered.
	Err error
}

// Uncertain says whether the message may have been delivered although no
// answer says so: sending it again may send it twice, not sending it again may
// lose it.
func (r Result) Uncertain() bool {
	return r.Status == Retry && (r.Reason == ReasonTimeout || r.Reason == ReasonNetwork)
}

// Validate says what in r no channel may answer, and nil when r is sound.
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

// Reason is why a message was not delivered: a closed set, so that it can be
// a metric's label.
type Reason string

// The reasons. The first three are said without an answer of the provider and
// only with Retry.
const (
	ReasonTimeout      Reason = "timeout"      // no answer in time: uncertain, it may have arrived
	ReasonNetwork      Reason = "network"      // the connection broke before an answer: uncertain
	ReasonUnreachable  Reason = "unreachable"  // no connection was made: certain, nothing was sent
	ReasonRateLimited  Reason = "rate_limited" // the provider's own limit
	ReasonUnavailable  Reason = "unavailable"  // the provider is failing or not ready
	ReasonRejected     Reason = "rejected"     // the provider refuses this message
	ReasonUnauthorized Reason = "unauthorized" // the provider refuses our credentials
	ReasonGone         Reason = "gone"         // the recipient is no longer there
	ReasonRedirected   Reason = "redirected"   // the provider points elsewhere: not followed
	ReasonMisaddressed Reason = "misaddressed" // the target does not exist or takes no messages
)

// Reasons returns every Reason there is, in the order above.
func Reasons() []Reason {
	return []Reason{
		ReasonTimeout, ReasonNetwork, ReasonUnreachable, ReasonRateLimited, ReasonUnavailable,
		ReasonRejected, ReasonUnauthorized, ReasonGone, ReasonRedirected, ReasonMisaddressed,
	}
}

func (r Reason) noAnswer() bool {
	return r == ReasonTimeout || r == ReasonNetwork || r == ReasonUnreachable
}
