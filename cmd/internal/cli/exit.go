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

// StatusOf returns the exit status for the code of an outcome, "" if it was accepted.
func StatusOf(code fault.Code) int {
	switch code {
	case "":
		return StatusDone
	case fault.CodeInvalidField, fault.CodeInPast, fault.CodeTooFarAhead, fault.CodeUnknownCategory,
		fault.CodeCategoryReserved:
		return StatusInvalid
	case fault.CodeSendLimit, fault.CodeTooManyPlaces, fault.CodeAccountPlaces, fault.CodeIDReused, fault.CodeTooLate, fault.CodeExpired,
		fault.CodeRateLimited, fault.CodeQuotaExceeded, fault.CodeThrottled, fault.CodeQuietHours, fault.CodeDoNotDisturb, fault.CodeBlocked, fault.CodeOptedOut,
		fault.CodeVersionMismatch, fault.CodeRefitRunning, fault.CodeCampaignRunning, fault.CodeCampaignEnded, fault.CodeExists, fault.CodePolicyInUse,
		fault.CodeIndexOff, fault.CodeTooManyDevices, fault.CodeUnauthorized, fault.CodeForbidden:
		return StatusRefused
	case fault.CodeNotFound:
		return StatusNotFound
	case fault.CodeUnavailable, fault.CodeStoreFull, fault.CodeStoreUnfit:
		return StatusUnavailable
	default:
		return StatusUnexpected
	}
}

// StatusError is returned by a command that has printed its outcome. It ends the program
// with that status and prints nothing.
type StatusError int

// Error names the status.
func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// UsageError is returned for an invalid command line.
type UsageError struct {
	Detail string // one sentence, with where to find help
	Field  string // the flag or argument at fault; "" for none
}

// Error returns Detail.
func (e *UsageError) Error() string { return e.Detail }

// Code returns fault.CodeInvalidField.
func (e *UsageError) Code() fault.Code { return fault.CodeInvalidField }

// ExitCode returns the exit status of a program that ends with err.
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

// codeOf returns the code of the first error in the chain that has one.
func codeOf(err error) fault.Code {
	var coded interface{ Code() fault.Code }
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return ""
}
