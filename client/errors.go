package client

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound is what errors.Is finds in a *Refusal with CodeNotFound: nothing
// is known of the message, it is another account's, or it is no dead letter; or
// there is no such account, key, tier or policy.
var ErrNotFound = errors.New("not found")

// Code says, for machines, why something was not done.
type Code string

// The codes. There may be more one day.
const (
	CodeInvalidField    Code = "invalid_field"
	CodeInPast          Code = "in_past"
	CodeTooFarAhead     Code = "too_far_ahead"
	CodeSendLimit       Code = "send_limit"       // the time would break a rule: see Refusal.Violations
	CodeQuietHours      Code = "quiet_hours"      // the user gets nothing at that time
	CodeIDReused        Code = "id_reused"        // the id stands for another message
	CodeTooLate         Code = "too_late"         // the message is being sent, or was sent
	CodeExpired         Code = "expired"          // a dead letter outlived its expiry
	CodeRefitRunning    Code = "refit_running"    // somebody else refits the policy right now
	CodeVersionMismatch Code = "version_mismatch" // it was changed: see Condition
	CodeRateLimited     Code = "rate_limited"     // too many requests at a time
	CodeQuotaExceeded   Code = "quota_exceeded"   // too many messages in the account's period
	CodeBlocked         Code = "blocked"          // the user wants nothing
	CodeNotFound        Code = "not_found"
	CodeUnauthorized    Code = "unauthorized" // there is no key, or it lets nobody in
	CodeForbidden       Code = "forbidden"    // the key has not the scope
	CodeUnavailable     Code = "unavailable"
	CodeStoreFull       Code = "store_full"
	CodeInternal        Code = "internal"
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

// Violation is a rule that accepting would break.
type Violation struct {
	Rule          string     `json:"rule"`     // 1/minute
	Category      string     `json:"category"` // whose messages it counts; "" for all
	Limit         int        `json:"limit"`
	Kind          string     `json:"kind"` // sliding or calendar
	WindowSeconds int        `json:"window_seconds"`
	From          time.Time  `json:"from"`  // of a calendar rule's period, half-open
	Until         time.Time  `json:"until"` // of a calendar rule's period
	Conflicts     []Conflict `json:"conflicts"`
	// ConflictsTotal counts all that are in the way; Conflicts has 10 at most.
	ConflictsTotal int `json:"conflicts_total"`
}

// QuietHours is the quiet stretch, half-open, that a send time is in.
type QuietHours struct {
	Hours    string    `json:"hours"`     // as the policy has them: 22:00-08:00
	TimeZone string    `json:"time_zone"` // IANA, by whose clocks they go
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
}

// Conflict is a message in the way, or another of a user's sends.
type Conflict struct {
	ID     string    `json:"id"` // "" of another account's
	SendAt time.Time `json:"send_at"`
}

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
