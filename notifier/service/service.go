package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// DefaultTimeout is the default of Config.Timeout.
	DefaultTimeout = 15 * time.Second
	// MaxTimeout is the longest Config.Timeout.
	MaxTimeout = 5 * time.Minute

	// parallel is how many sends run at a time.
	parallel = 16
)

// Config configures a Notifier. URL is required.
type Config struct {
	// URL names the service, its place and its secrets.
	URL string
	// Timeout bounds one attempt; zero means DefaultTimeout.
	Timeout time.Duration
}

// Notifier sends to one service. Make one with New.
type Notifier struct {
	scheme  string
	timeout time.Duration
	// idle has the senders that no send uses. Most senders are not safe for concurrent use.
	idle chan types.Service
}

// New returns a Notifier for c. It makes no request. The error has a *notifier.InvalidError for
// each setting that is not allowed, and shows at most the URL's scheme.
func New(c Config) (*Notifier, error) {
	var problems []error
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		problems = append(problems, &notifier.InvalidError{
			Field: "timeout", Value: c.Timeout.String(), Want: "a time above zero and up to " + MaxTimeout.String(),
		})
	}
	n := &Notifier{scheme: schemeOf(c.URL), timeout: c.Timeout, idle: make(chan types.Service, parallel)}
	if n.timeout == 0 {
		n.timeout = DefaultTimeout
	}
	if !slices.Contains(Schemes(), n.scheme) {
		problems = append(problems, &notifier.InvalidError{
			Field: "url", Value: n.scheme, Want: "a URL with one of these schemes: " + strings.Join(Schemes(), ", "),
		})
		return nil, errors.Join(problems...)
	}
	for range parallel {
		sender, err := new(router.ServiceRouter).Locate(c.URL)
		if err != nil {
			// err repeats the URL.
			problems = append(problems, &notifier.InvalidError{
				Field: "url", Value: n.scheme + "://…", Want: "a URL as the documentation of shoutrrr has it for " + n.scheme,
			})
			break
		}
		n.idle <- sender
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return n, nil
}

// Schemes returns the schemes of the services, in order. The library's logger is none of them,
// since the channel "log" does better.
func Schemes() []string {
	known := slices.DeleteFunc(new(router.ServiceRouter).ListServices(), func(s string) bool { return s == "logger" })
	slices.Sort(known)
	return known
}

// schemeOf returns the scheme of a URL in lower case, without what follows a plus:
// "generic+https" is generic. It is empty if there is none.
func schemeOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	scheme, _, _ := strings.Cut(u.Scheme, "+")
	return scheme
}

// Notify sends n once.
func (s *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if ctx.Err() != nil {
		return s.retry(notifier.ReasonUnreachable, "the delivery was called off")
	}
	var sender types.Service
	select {
	case sender = <-s.idle:
	case <-ctx.Done():
		return s.retry(notifier.ReasonUnreachable, "all connections were busy")
	}
	text, params := s.compose(n)
	sent := make(chan error, 1)
	go func() {
		defer func() { s.idle <- sender }()
		sent <- send(sender, text, params)
	}()
	select {
	case err := <-sent:
		return s.judge(err)
	case <-ctx.Done():
		return s.retry(notifier.ReasonTimeout, "it took too long")
	}
}

// errPanicked replaces what the library panicked with, which may be anything.
var errPanicked = errors.New("the library failed")

// send turns a panic of the library into an error: there are many services, and one message
// must not end the program.
func send(sender types.Service, text string, params types.Params) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return sender.Send(text, &params) //nolint:wrapcheck // it is judged, and never shown
}

// judge returns the Result of a send that ended. The library reports no status.
func (s *Notifier) judge(err error) notifier.Result {
	switch reason := reasonOf(err); reason {
	case "":
		return notifier.Result{Status: notifier.Delivered}
	case notifier.ReasonUnreachable:
		return s.retry(reason, "no connection was made")
	case notifier.ReasonTimeout:
		return s.retry(reason, "it took too long")
	case notifier.ReasonNetwork:
		return s.retry(reason, "the connection broke")
	default:
		return s.retry(reason, "it reported an error")
	}
}

// reasonOf returns why a send failed; empty if it did not. Some services keep of the cause only
// its text.
func reasonOf(err error) notifier.Reason {
	if err == nil {
		return ""
	}
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(err.Error(), part) })
	}
	var operation *net.OpError
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &name), errors.As(err, &operation) && operation.Op == "dial", has("dial tcp", "no such host"):
		return notifier.ReasonUnreachable
	case errors.As(err, &timeout) && timeout.Timeout(), has("i/o timeout", "Client.Timeout", "deadline exceeded"):
		return notifier.ReasonTimeout
	case isTransport(err), has("EOF", "connection reset", "broken pipe", "malformed HTTP"):
		return notifier.ReasonNetwork
	default:
		return notifier.ReasonUnavailable
	}
}

// isTransport reports whether an HTTP request had no answer.
func isTransport(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// retry returns the Result of a try that failed. What the library says is not in it: it
// contains the URL, and what the service sent.
func (s *Notifier) retry(reason notifier.Reason, what string) notifier.Result {
	return notifier.Result{
		Status: notifier.Retry, Reason: reason, Err: fmt.Errorf("the service %s did not take the message: %s", s.scheme, what),
	}
}
