package exchange

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/sendlimit/sendlimiter/notifier"
)

// ErrNotProcessed is wrapped by the error of a Client's RoundTripper if the provider certainly did
// not process the request, although a part of it was written.
var ErrNotProcessed = errors.New("the request was not processed")

// failed returns the Result of a request without an answer. written reports whether its body may
// have been written, so that it may have arrived.
func (c Client) failed(ctx context.Context, err error, written bool) notifier.Result {
	written = written && !errors.Is(err, ErrNotProcessed)
	if ended := ctx.Err(); ended != nil {
		err = ended // not the caller's cause, which may contain anything
	}
	result := notifier.Result{Status: notifier.Retry, Err: &failure{provider: c.Provider, text: cmp.Or(Describe(err), "the answer was not HTTP, or the connection broke"), cause: Leaf(err)}}
	var timeout net.Error
	switch {
	case internal(err):
		result.Status, result.Reason = notifier.Permanent, notifier.ReasonMisaddressed
	case !written && Exhausted(err):
		result.Status, result.Reason, result.Pause = notifier.SlowDown, notifier.ReasonExhausted, notifier.PauseMessage
		result.RetryAfter = ExhaustedPause + rand.N(ExhaustedPause)
	case !written:
		result.Reason = notifier.ReasonUnreachable
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		result.Reason = notifier.ReasonTimeout
	default:
		result.Reason = notifier.ReasonNetwork
	}
	return result
}

// failure replaces an error of net/http, whose text contains the address and may repeat what the
// server sent.
type failure struct {
	provider string
	text     string
	cause    error // safe to show; nil for none
}

func (f *failure) Error() string { return "no answer from " + f.provider + ": " + f.text }

func (f *failure) Unwrap() error { return f.cause }

// Describe describes an error of a connection without its address; "" for an unknown one.
func Describe(err error) string {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		timeout     net.Error
		refusal     *proxyError
	)
	switch cause := Leaf(err); {
	case Exhausted(err):
		return "this worker has too many open files: raise the limit (ulimit -n), see sendlimit-worker check"
	case internal(err):
		return "its address is internal, which is not allowed"
	case errors.As(err, &refusal):
		return refusal.Error()
	case errors.As(err, &name):
		return "the host's name does not resolve"
	case errors.As(err, &certificate):
		return "the server's certificate is not valid here"
	case errors.As(err, &record):
		return "the server does not speak TLS"
	case errors.As(err, &alert):
		return "the server broke off the TLS handshake"
	case errors.Is(cause, context.Canceled):
		return "it was cancelled"
	case errors.Is(cause, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it took too long"
	case errors.Is(cause, io.EOF):
		return "the server closed the connection"
	case cause != nil:
		return cause.Error() // of the operating system: "connection refused"
	default:
		return ""
	}
}

// ExhaustedPause is the least wait of a message if this worker has too many open files.
const ExhaustedPause = 5 * time.Second

// Exhausted reports whether this process or this machine has too many open files. The resolver of
// names keeps only the text.
func Exhausted(err error) bool {
	name, resolving := errors.AsType[*net.DNSError](err)
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		resolving && strings.Contains(name.Err, syscall.EMFILE.Error())
}

// internal reports whether err refuses a connection to an internal address.
func internal(err error) bool {
	return errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedPort) ||
		errors.Is(err, ssrf.ErrProhibitedNetwork)
}

// Leaf returns the part of err that callers may compare with and that is safe to show, or nil.
func Leaf(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return nil
}
