package client

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ErrNotFound matches a *Refusal with CodeNotFound in errors.Is: the message is unknown, belongs to
// another account or is not a dead letter; the account, key, tier or policy does not exist; or the
// event has no limits.
var ErrNotFound = errors.New("not found")

// Code is a machine-readable reason why something was not done, see package fault.
type Code = fault.Code

// Refusal is returned when a request was judged and refused. The same request is refused until
// something else changes.
type Refusal struct {
	// Outcome is the answer. With CodeSendLimit, its Violations have every rule that would break,
	// in the policy's order. NextFreeAt and PreviousFreeAt are set with all codes that are
	// Shiftable, except with WithoutFreeTimes.
	Outcome
	// RetryAfter is how long to wait (with CodeRateLimited), or the time until ResetsAt (with
	// CodeQuotaExceeded). It is zero if the API did not say.
	RetryAfter time.Duration
	// RequestID identifies the request in the API's log; "" in a batch.
	RequestID string
}

// Error returns a sentence with the reason.
func (e *Refusal) Error() string { return describe("refused", e.Code, e.Detail) }

// Is reports whether target is ErrNotFound and the code is CodeNotFound.
func (e *Refusal) Is(target error) bool { return target == ErrNotFound && e.Code == CodeNotFound }

// Time is a time as the API spells it: UTC, in milliseconds.
type Time = message.Time

func refusalOf(o Outcome) *Refusal {
	return &Refusal{
		Outcome: o, RetryAfter: time.Duration(min(max(o.RetryAfterSeconds, 0), int64(longestRetryAfter/time.Second))) * time.Second,
	}
}

// InvalidError is returned when a request is wrong. Nothing was done.
type InvalidError struct {
	// Outcome is the answer. Its Field is the first wrong field; "" if the error is not about a
	// single one. Its Detail is a sentence for a person, or one for each field.
	Outcome
	RequestID string // "" if nothing was sent, and in a batch
}

// Error returns a sentence with the allowed values.
func (e *InvalidError) Error() string { return describe("invalid", e.Code, e.Detail) }

func invalidOf(o Outcome) *InvalidError { return &InvalidError{Outcome: o} }

func invalid(field, takes string) *InvalidError {
	return invalidOf(Outcome{Outcome: message.Invalid, Code: CodeInvalidField, Field: field, Detail: field + " " + takes})
}

// UnavailableError is returned when the API or its store can't be used right now. The request may
// have been done. It is safe to send it again.
type UnavailableError struct {
	Code       Code          // CodeUnavailable, CodeStoreFull or CodeStoreUnfit
	Detail     string        // a sentence for a person
	RetryAfter time.Duration // what the API asked for; zero if it did not
	RequestID  string        // "" if there was no answer
	Err        error         // the cause; nil if the API answered
	Unsent     bool          // no try found a connection, so nothing was done
}

// Error returns a sentence with the next step.
func (e *UnavailableError) Error() string { return describe("unavailable", e.Code, e.Detail) }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ResponseError is returned for any other answer: from another server, an error of the
// API itself, or one about the key (CodeUnauthorized, CodeForbidden).
type ResponseError struct {
	Status    int    // the HTTP status; zero within a stream
	Code      Code   // "" if the answer has none
	Detail    string // a sentence for a person
	RequestID string
	Err       error // the cause; nil if the answer is well formed
}

// Error describes the answer.
func (e *ResponseError) Error() string {
	detail := describe("the API answered in a way that it does not document", e.Code, e.Detail)
	if e.Status != 0 {
		detail = fmt.Sprintf("HTTP status %d: %s", e.Status, detail)
	}
	return detail
}

// Unwrap returns the cause.
func (e *ResponseError) Unwrap() error { return e.Err }

// BatchError is returned when a batch ended before its last message. Earlier results are
// valid.
type BatchError struct {
	// Unanswered has the messages that were read and have no result, in order and with their ids.
	// Some may have been accepted. It is safe to submit them again with these ids.
	Unanswered []Message
	Err        error
}

// Error returns a sentence with the reason.
func (e *BatchError) Error() string {
	return fmt.Sprintf("the batch ended with %s unanswered: %v", message.Count(len(e.Unanswered), "message"), e.Err)
}

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }

// describe returns the detail, or a sentence with the code if there is none.
func describe(kind string, code Code, detail string) string {
	if code != "" {
		kind += ": " + string(code)
	}
	return cmp.Or(detail, kind)
}
