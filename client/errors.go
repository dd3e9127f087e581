package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// ErrNotFound is what errors.Is finds in a *Refusal with CodeNotFound: nothing
// is known of the message, it is another account's, or it is no dead letter; or
// there is no such account, key, tier or policy.
var ErrNotFound = errors.New("not found")

// Code says, for machines, why something was not done.
type Code = fault.Code

// The codes. More may be added.
const (
	CodeInvalidField    = fault.CodeInvalidField
	CodeInPast          = fault.CodeInPast
	CodeTooFarAhead     = fault.CodeTooFarAhead
	CodeSendLimit       = fault.CodeSendLimit       // the time would break a rule: see Refusal.Violations
	CodeQuietHours      = fault.CodeQuietHours      // the time is in the user's quiet hours
	CodeIDReused        = fault.CodeIDReused        // the id belongs to another message
	CodeTooLate         = fault.CodeTooLate         // the message is being sent, or was sent
	CodeExpired         = fault.CodeExpired         // the dead letter has expired
	CodeRefitRunning    = fault.CodeRefitRunning    // somebody else refits the policy right now
	CodeVersionMismatch = fault.CodeVersionMismatch // it was changed: see Condition
	CodeRateLimited     = fault.CodeRateLimited     // too many requests at a time
	CodeQuotaExceeded   = fault.CodeQuotaExceeded   // too many messages in the account's hour or day
	CodeBlocked         = fault.CodeBlocked         // the user is blocked
	CodeNotFound        = fault.CodeNotFound
	CodeUnauthorized    = fault.CodeUnauthorized // there is no key, or it is not valid
	CodeForbidden       = fault.CodeForbidden    // the key does not have the scope
	CodeUnavailable     = fault.CodeUnavailable
	CodeStoreFull       = fault.CodeStoreFull
	CodeInternal        = fault.CodeInternal
)

// Refusal is returned when a request was judged, and refused: with the same
// request nothing else comes out until something else changes.
type Refusal struct { //nolint:errname // the contract's word
	Code        Code
	Detail      string // a sentence for a person
	User, ID    string
	SendAt      time.Time // the send time that was refused; zero where it is not about one
	RequestedAt time.Time // what was asked for, where SendAt differs; otherwise zero

	// With CodeSendLimit: every rule that would break, in the policy's order;
	// with CodeQuietHours the quiet hours. With both the free times around, each
	// zero where there is none.
	Violations                 []Violation
	QuietHours                 *QuietHours
	NextFreeAt, PreviousFreeAt time.Time

	// RetryAfter is how long to wait, with CodeRateLimited; with CodeQuotaExceeded
	// how long it is until ResetsAt. Zero where the API did not say.
	RetryAfter time.Duration
	// ResetsAt is, with CodeQuotaExceeded, when the hour or day of the send time
	// ends: what is to be sent from then on counts anew. Zero otherwise.
	ResetsAt time.Time
	// RequestID names the request to those who run the API; "" in a batch.
	RequestID string
}

// Error says what was refused, and why.
func (e *Refusal) Error() string { return describe("refused", e.Code, e.Detail) }

// Is reports whether this is the ErrNotFound that is looked for.
func (e *Refusal) Is(target error) bool { return target == ErrNotFound && e.Code == CodeNotFound }

// What a Refusal says about the rules in the way.
type (
	Violation  = message.Violation
	QuietHours = message.QuietHours
	Conflict   = message.Conflict // ID is "" for another account's message
	Time       = message.Time
)

// InvalidError is returned when a request is wrong. Nothing was done.
type InvalidError struct {
	Code      Code   // CodeInvalidField, CodeInPast or CodeTooFarAhead
	Field     string // the field at fault; "" where it is no single one
	Detail    string // a sentence for a person
	RequestID string // "" where nothing was sent, and in a batch
}

// Error says what is wrong, and what is allowed.
func (e *InvalidError) Error() string { return describe("invalid", e.Code, e.Detail) }

func invalid(field, takes string) *InvalidError {
	return &InvalidError{Code: CodeInvalidField, Field: field, Detail: field + " " + takes}
}

// UnavailableError is returned when the API or its store can't be used right
// now. What was asked for may have been done: asking again is safe.
type UnavailableError struct {
	Code       Code          // CodeUnavailable or CodeStoreFull
	Detail     string        // a sentence for a person
	RetryAfter time.Duration // what the API asked for; zero where it did not
	RequestID  string        // "" where there was no answer
	Err        error         // the cause; nil where the API answered
}

// Error says what is wrong, and what to do.
func (e *UnavailableError) Error() string { return describe("unavailable", e.Code, e.Detail) }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ResponseError is returned for an answer that the API does not document for the
// call: another server's, an error of the API itself, or one about the key
// (CodeUnauthorized, CodeForbidden).
type ResponseError struct {
	Status    int    // the HTTP status; zero in a stream that was under way
	Code      Code   // "" where the answer has none
	Detail    string // a sentence for a person
	RequestID string
	Err       error // the cause; nil where the answer is well formed
}

// Error says what came.
func (e *ResponseError) Error() string {
	detail := describe("the API answered in a way that it does not document", e.Code, e.Detail)
	if e.Status != 0 {
		detail = fmt.Sprintf("HTTP status %d: %s", e.Status, detail)
	}
	return detail
}

// Unwrap returns the cause.
func (e *ResponseError) Unwrap() error { return e.Err }

// BatchError is returned when a batch ended before its last message. Results
// that came before stand.
type BatchError struct {
	// Unanswered are the messages that were taken from the caller and have no
	// result, in order, with their ids. Some may have been accepted; to submit
	// them again with these ids is safe.
	Unanswered []Message
	Err        error
}

// Error says why the batch ended.
func (e *BatchError) Error() string {
	return fmt.Sprintf("the batch ended with %d messages unanswered: %v", len(e.Unanswered), e.Err)
}

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }

// describe makes a sentence of what is there.
func describe(kind string, code Code, detail string) string {
	switch {
	case detail != "":
		return detail
	case code != "":
		return kind + ": " + string(code)
	default:
		return kind
	}
}
