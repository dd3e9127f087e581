package fault

import (
	"errors"
	"fmt"
	"strings"
)

// CodeExpired is the code of a DeadLetters.Retry of a message whose own expiry
// has passed.
const CodeExpired Code = "expired"

// Code says, for machines, why a request was refused. The spelling is part of
// the contract and never changes.
type Code string

// The codes a Decision can carry.
const (
	CodeSendLimit   Code = "send_limit"     // the time would break a rule: see Violations
	CodeIDReused    Code = "id_reused"      // the id stands for another request
	CodeTooLate     Code = "too_late"       // the message is being sent, or was sent
	CodeNotFound    Code = "not_found"      // no such reservation
	CodeInPast      Code = "in_past"        // more than Grace before now
	CodeTooFarAhead Code = "too_far_ahead"  // beyond the reach of schedules
	CodePastExpiry  Code = CodeInvalidField // a move to a time at or after ExpiresAt

	CodeQuietHours Code = "quiet_hours" // the time is in the policy's quiet hours
	CodeBlocked    Code = "blocked"     // nothing is accepted for the user, see UserSettings.Blocked

	CodeRateLimited   Code = "rate_limited"   // too many calls: see RetryAfter
	CodeQuotaExceeded Code = "quota_exceeded" // the account's messages of that hour or day are used up: see ResetsAt
	CodeUnauthorized  Code = "unauthorized"   // no API key, or none that may do this
	CodeForbidden     Code = "forbidden"      // the API key does not have the scope
	CodeInternal      Code = "internal"       // an error of the program itself

	// Of a change with a Hold, which has to be made anew. Callers of the product
	// never see them.
	CodeHoldOver    Code = "hold_over"    // it came after Hold.NotAfter
	CodeOutsideHold Code = "outside_hold" // its place would be at or after Hold.Until
	CodeChanged     Code = "changed"      // the reservation is not as Hold.Former and From say
)

// CodeInvalidField is the code of every InvalidError.
const CodeInvalidField Code = "invalid_field"

// InvalidError is returned when an argument is outside what is allowed.
// Nothing was done.
type InvalidError struct {
	Field string // as the contract spells it: "send_at", "rule"
	Value string // what was given
	Want  string // what is allowed, to stand after "is not" or "wants"
}

// Error names the field, the value and what is allowed.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s %q is not allowed: it takes %s", e.Field, Clip(e.Value), e.Want)
}

// Code returns CodeInvalidField.
func (e *InvalidError) Code() Code { return CodeInvalidField }

// InvalidErrors is returned when several things of one argument, such as a Policy,
// are outside what is allowed, so that all can be mended at once; errors.As finds
// the first. Nothing was done.
type InvalidErrors []*InvalidError

// Error has a sentence for each, up to 20.
func (e InvalidErrors) Error() string {
	const most = 20
	var sentences []string
	for _, one := range e[:min(len(e), most)] {
		sentences = append(sentences, one.Error())
	}
	if more := len(e) - most; more > 0 {
		sentences = append(sentences, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(sentences, "; ")
}

// Code returns CodeInvalidField.
func (e InvalidErrors) Code() Code { return CodeInvalidField }

// Unwrap returns each.
func (e InvalidErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, one := range e {
		errs[i] = one
	}
	return errs
}

// add notes what an error says is not allowed; nil says nothing.
func (e *InvalidErrors) Add(err error) {
	if several, ok := errors.AsType[InvalidErrors](err); ok {
		*e = append(*e, several...)
	} else if one, ok := errors.AsType[*InvalidError](err); ok {
		*e = append(*e, one)
	}
}

// err is the error to return: nil where there is nothing, and one by itself.
func (e InvalidErrors) Err() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	default:
		return e
	}
}

// clip keeps a message readable when the value is not.
func Clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// CodeVersionMismatch is the code of a change to something that has been replaced
// meanwhile.
const CodeVersionMismatch Code = "version_mismatch"

// inField has an *InvalidError, or InvalidErrors, name a field as those spell it who
// gave the value.
func InField(err error, field string) error {
	var given, named InvalidErrors
	given.Add(err)
	for _, invalid := range given {
		named = append(named, &InvalidError{Field: field, Value: invalid.Value, Want: invalid.Want})
	}
	if named == nil {
		return err
	}
	return named.Err()
}

// CodeRefitRunning is the code of a refit of which somebody else has the turn.
const CodeRefitRunning Code = "refit_running"

// The codes of an UnavailableError.
const (
	CodeUnavailable Code = "unavailable"
	CodeStoreFull   Code = "store_full" // no memory is left for more messages
)

// UnavailableError is returned when the store can't be used as it is: out of
// reach, not ready, full, refusing to write, or set up in a way that loses
// data. An argument is never the cause, so the same call can succeed later.
type UnavailableError struct {
	// Detail says in one sentence what is wrong and what to do about it. It
	// holds no secret.
	Detail string
	// Full says that the store has no memory left for what was asked for, and
	// that nothing was done.
	Full bool
	Err  error // the cause; nil where the store itself is fine but unfit
}

// Error returns Detail.
func (e *UnavailableError) Error() string { return e.Detail }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Code returns CodeStoreFull if the store is Full, otherwise CodeUnavailable.
func (e *UnavailableError) Code() Code {
	if e.Full {
		return CodeStoreFull
	}
	return CodeUnavailable
}

// NoSuchError is returned when what a change names is not there. Nothing was
// done.
type NoSuchError struct {
	What string // "account", "key", "tier" or "policy"
	Name string
}

// Error names what is not there.
func (e *NoSuchError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, Clip(e.Name)) }

// Code returns CodeNotFound.
func (e *NoSuchError) Code() Code { return CodeNotFound }

func NoSuchAccount(name string) error { return &NoSuchError{What: "account", Name: name} }

// ErrReply is returned when a script's reply does not have its documented shape:
// the store is not Redis, or runs a script of another version.
var ErrReply = errors.New("unexpected reply of a script")
