package cli

import (
	"errors"
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// The exit statuses, the same for every command.
const (
	StatusDone        = 0
	StatusUnexpected  = 1
	StatusInvalid     = 2 // bad usage or input
	StatusRefused     = 3
	StatusNotFound    = 4
	StatusUnavailable = 5 // the store
)

// StatusOf is the exit status of an outcome with the code; "" is that of one
// without, which was accepted.
func StatusOf(code fault.Code) int {
	switch code {
	case "":
		return StatusDone
	case fault.CodeInvalidField, fault.CodeInPast, fault.CodeTooFarAhead:
		return StatusInvalid
	case fault.CodeSendLimit, fault.CodeIDReused, fault.CodeTooLate, fault.CodeExpired,
		fault.CodeRateLimited, fault.CodeQuotaExceeded, fault.CodeQuietHours, fault.CodeBlocked,
		fault.CodeVersionMismatch, fault.CodeRefitRunning:
		return StatusRefused
	case fault.CodeNotFound:
		return StatusNotFound
	case fault.CodeUnavailable, fault.CodeStoreFull:
		return StatusUnavailable
	default:
		return StatusUnexpected
	}
}

// StatusError is returned by a command that has printed its outcome, and ends
// the program with that status and no further word.
type StatusError int

// Error names the status.
func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// UsageError is returned when a command line makes no sense.
type UsageError struct {
	Detail string // one sentence, with where to find help
	Field  string // the flag or argument at fault; "" for none
}

// Error returns Detail.
func (e *UsageError) Error() string { return e.Detail }

// Code returns sendlimit.CodeInvalidField.
func (e *UsageError) Code() fault.Code { return fault.CodeInvalidField }

// ExitCode is the exit status of a program that ends with the error.
func ExitCode(err error) int {
	if err == nil {
		return StatusDone
	}
	if status, ok := errors.AsType[StatusError](err); ok {
		return int(status)
	}
	return errorStatus(err)
}

func errorStatus(err error) int {
	if code := codeOf(err); code != "" {
		return StatusOf(code)
	}
	return StatusUnexpected
}

// codeOf is the code of the first error in the chain that has one.
func codeOf(err error) fault.Code {
	var coded interface{ Code() fault.Code }
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return ""
}
