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
	SlowDown                    // it asks for later, or this worker is at fault; not an attempt
	Gone                        // it no longer knows this device: the next message fails, too
	Refused                     // it refuses us, not this message; not an attempt
)

// String returns the status for logs and metrics.
func (s Status) String() string {
	names := [...]string{"", "delivered", "retry", "permanent", "slow_down", "gone", "refused"}
	if s == 0 || int(s) >= len(names) {
		return fmt.Sprintf("status(%d)", uint8(s))
	}
	return names[s]
}

// Pause says what waits after a SlowDown.
type Pause uint8

// The pauses. The zero Pause is for all other statuses.
const (
	PauseMessage Pause = iota + 1 // this message only
	PauseDevice                   // all messages to this device
	PauseHost                     // all messages to this host: a browser's push service
	PauseChannel                  // all messages of the channel
)

// String returns the pause for logs and metrics.
func (p Pause) String() string {
	names := [...]string{"none", "message", "device", "host", "channel"}
	if int(p) >= len(names) {
		return fmt.Sprintf("pause(%d)", uint8(p))
	}
	return names[p]
}

// Result is a channel's answer to one attempt. The zero Result is not valid.
type Result struct {
	Status Status
	// Reason is why it was not delivered; empty if it was.
	Reason Reason
	// RetryAfter is the wait: with Retry what the provider asks for, or zero; with SlowDown always
	// more than zero. Other statuses have none.
	RetryAfter time.Duration
	// Pause is what waits for RetryAfter. It is set only with SlowDown.
	Pause Pause
	// Unclear reports that the provider did not say whether its limit is the device's or everybody's.
	// It is set only with PauseDevice.
	Unclear bool
	// GoneSince is the time since which the provider knows that the device is gone; zero if it is
	// unknown. It is set only with Gone.
	GoneSince time.Time
	// ProviderID is the provider's id of the delivered message, if it has one.
	ProviderID string
	// Err has details for the log. It never contains the message, a secret or the receiver's
	// address. It is nil if the message was delivered.
	Err error
}

// Uncertain reports whether the message may or may not have been delivered: another attempt may
// send it twice, and no attempt may lose it.
func (r Result) Uncertain() bool {
	return r.Status == Retry && (r.Reason == ReasonTimeout || r.Reason == ReasonNetwork)
}

// Validate checks that r is a result that a channel may return.
func (r Result) Validate() error {
	if r.Status == Delivered {
		if r.Reason != "" || r.Err != nil || r.RetryAfter != 0 || r.Pause != 0 || r.Unclear || !r.GoneSince.IsZero() {
			return errors.New("a delivered result has a reason, an error, a time to retry, a pause or a time of its device's end")
		}
		return nil
	}
	allowed, known := reasonsOf(r.Status)
	switch {
	case !known:
		return fmt.Errorf("%s is none of delivered, retry, permanent, slow_down, gone and refused", r.Status)
	case !slices.Contains(Reasons(), r.Reason):
		return fmt.Errorf("reason %q is not one of the closed set", r.Reason)
	case r.ProviderID != "":
		return errors.New("a result that is not delivered names a provider's message")
	case r.RetryAfter < 0:
		return fmt.Errorf("time to retry %s is negative", r.RetryAfter)
	case r.RetryAfter != 0 && r.Status != Retry && r.Status != SlowDown:
		return fmt.Errorf("a result %s has a time to retry", r.Status)
	case r.Status != Retry && r.Reason.noAnswer():
		return fmt.Errorf("reason %q means no answer came: the status is never %s", r.Reason, r.Status)
	case allowed != nil && !slices.Contains(allowed, r.Reason):
		return fmt.Errorf("reason %q does not go with status %s: %q do", r.Reason, r.Status, allowed)
	case r.Status == SlowDown && (r.RetryAfter == 0 || r.Pause < PauseMessage || r.Pause > PauseChannel):
		return fmt.Errorf("a result slow_down has a pause %s and a time to retry %s", r.Pause, r.RetryAfter)
	case r.Unclear && r.Pause != PauseDevice:
		return fmt.Errorf("a result with a pause %s is unclear about its device", r.Pause)
	case r.Status != SlowDown && r.Pause != 0:
		return fmt.Errorf("a result %s has a pause", r.Status)
	case r.Status != Gone && !r.GoneSince.IsZero():
		return fmt.Errorf("a result %s has a time of its device's end", r.Status)
	}
	return nil
}

// reasonsOf returns the allowed reasons of a status, nil for all, and whether a message that was
// not delivered can have the status.
func reasonsOf(s Status) (allowed []Reason, known bool) {
	switch s {
	case Retry, Permanent:
		return nil, true
	case SlowDown:
		return []Reason{ReasonRateLimited, ReasonUnavailable, ReasonExhausted}, true
	case Gone:
		return []Reason{ReasonGone, ReasonMismatched}, true
	case Refused:
		return []Reason{ReasonUnauthorized, ReasonMisaddressed}, true
	case Delivered:
	}
	return nil, false
}

// Reason is why a message was not delivered. Reasons are a closed set, so that they can label a
// metric.
type Reason string

// The reasons. The first three mean that the provider did not answer, and occur only with Retry.
const (
	ReasonTimeout      Reason = "timeout"      // no answer in time: uncertain, it may have arrived
	ReasonNetwork      Reason = "network"      // the connection broke before an answer: uncertain
	ReasonUnreachable  Reason = "unreachable"  // no connection was made: certain, nothing was sent
	ReasonRateLimited  Reason = "rate_limited" // the provider limits requests; never an attempt
	ReasonUnavailable  Reason = "unavailable"  // the provider fails or is not ready
	ReasonRejected     Reason = "rejected"     // the provider refuses this message
	ReasonUnauthorized Reason = "unauthorized" // the provider refuses our credentials
	ReasonGone         Reason = "gone"         // the recipient no longer exists
	ReasonRedirected   Reason = "redirected"   // the provider redirects, which is not followed
	ReasonMisaddressed Reason = "misaddressed" // the target does not exist or accepts no messages
	ReasonMismatched   Reason = "mismatched"   // the device belongs to another project, app, key or environment
	ReasonTooLarge     Reason = "too_large"    // the provider does not accept messages of this size
	ReasonNoDevice     Reason = "no_device"    // there is no device to deliver to
	ReasonExhausted    Reason = "exhausted"    // this worker has too many open files to connect: nothing was sent
)

// Reasons returns all reasons, in the order above.
func Reasons() []Reason {
	return []Reason{
		ReasonTimeout, ReasonNetwork, ReasonUnreachable, ReasonRateLimited, ReasonUnavailable,
		ReasonRejected, ReasonUnauthorized, ReasonGone, ReasonRedirected, ReasonMisaddressed,
		ReasonMismatched, ReasonTooLarge, ReasonNoDevice, ReasonExhausted,
	}
}

func (r Reason) noAnswer() bool {
	return r == ReasonTimeout || r == ReasonNetwork || r == ReasonUnreachable
}
