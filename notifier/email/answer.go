package email

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"regexp"
	"strconv"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

var (
	errNoTLS   = errors.New("the server does not offer it; with email_tls it can be optional")
	errNoLogin = errors.New("the server offers no method that can be used on this connection")
)

// stepError is the error of a step of a session. Only judge reads the cause: its text may contain
// the address of the receiver or the server.
type stepError struct {
	step  string
	cause error
}

func (e *stepError) Error() string { return "failed at " + e.step }

// Error is the error of a failed session, with the step and the part of the cause that is safe to
// show.
type Error struct {
	Step string // "RCPT"
	// Code is the code of the server's answer, such as 550, zero without an answer. Enhanced is its
	// code of RFC 3463, such as "5.1.1", if there is one.
	Code     int
	Enhanced string

	detail string
	cause  error // safe to show; nil for none
}

// Error names the step and the problem.
func (e *Error) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%s failed: %s", e.Step, e.detail)
	}
	answer := strconv.Itoa(e.Code)
	if e.Enhanced != "" {
		answer += " " + e.Enhanced
	}
	return fmt.Sprintf("the mail server answered %s to %s", answer, e.Step)
}

// Unwrap returns the safe part of the cause.
func (e *Error) Unwrap() error { return e.cause }

// judge returns the Result of a failed session.
func judge(ctx context.Context, err error) notifier.Result {
	failed, ok := errors.AsType[*stepError](err)
	if !ok {
		failed = &stepError{step: stepConnect, cause: err}
	}
	if answer, ok := errors.AsType[*textproto.Error](failed.cause); ok {
		return answered(failed.step, answer)
	}
	cause := failed.cause
	if ended := ctx.Err(); ended != nil {
		cause = ended // which closed the connection
	}
	result := notifier.Result{
		Status: notifier.Retry,
		Reason: notifier.ReasonUnreachable,
		Err:    &Error{Step: failed.step, detail: describe(cause), cause: leaf(cause)},
	}
	switch {
	case exchange.Exhausted(cause):
		result.Reason, result.RetryAfter = notifier.ReasonExhausted, exchange.ExhaustedPause
	case failed.step == stepAccepted && timedOut(cause):
		result.Reason = notifier.ReasonTimeout
	case failed.step == stepAccepted:
		result.Reason = notifier.ReasonNetwork
	case failed.step == stepLogin && (errors.Is(cause, errNoLogin) || leaf(cause) == nil):
		result.Reason = notifier.ReasonUnauthorized // before the password was sent
	}
	return result
}

func enhanced(text string) string {
	return regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`).FindString(text)
}

func answered(step string, answer *textproto.Error) notifier.Result {
	result := notifier.Result{
		Status: notifier.Retry,
		Reason: notifier.ReasonUnavailable,
		Err:    &Error{Step: step, Code: answer.Code, Enhanced: enhanced(answer.Msg)},
	}
	const loginRequired, loginRefused, tooWeak, encryptionRequired = 530, 535, 534, 538
	permanent := answer.Code >= 500 && answer.Code <= 599
	switch answer.Code {
	case loginRequired, loginRefused, tooWeak, encryptionRequired:
		result.Reason = notifier.ReasonUnauthorized
		return result
	}
	if !permanent {
		return result
	}
	switch step {
	case stepLogin:
		result.Reason = notifier.ReasonUnauthorized
	case stepReceiver:
		result.Status, result.Reason = notifier.Permanent, notifier.ReasonMisaddressed
	case stepSender, stepData, stepAccepted:
		result.Status, result.Reason = notifier.Permanent, notifier.ReasonRejected
	}
	// A 5xx before MAIL is about the server, not the message, and may be temporary.
	return result
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}

// describe describes err without an address.
func describe(err error) string {
	switch {
	case errors.Is(err, errNoTLS), errors.Is(err, errNoLogin):
		return err.Error()
	case timedOut(err) && !errors.Is(err, context.Canceled):
		return "it took too long"
	}
	return cmp.Or(exchange.Describe(err), "the answer was not SMTP, or can't be used on this connection")
}

// leaf returns the part of err that callers may compare with and that is safe to show, or nil.
func leaf(err error) error {
	for _, known := range []error{context.Canceled, errNoTLS, errNoLogin} {
		if errors.Is(err, known) {
			return known
		}
	}
	if timedOut(err) {
		return context.DeadlineExceeded // of the step
	}
	return exchange.Leaf(err)
}
