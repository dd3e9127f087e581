package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// DefaultTimeout is the default of Config.Timeout.
	DefaultTimeout = 15 * time.Second
	// MaxTimeout is the maximum of Config.Timeout.
	MaxTimeout = 5 * time.Minute

	// parallel is the maximum number of sends at a time.
	parallel = 16
)

// Config configures a Notifier. URL is required.
type Config struct {
	// URL has the service, the place and the secrets.
	URL string
	// Timeout bounds one attempt; zero means DefaultTimeout.
	Timeout time.Duration
}

// Notifier sends to one service. Create one with New, and Close it.
type Notifier struct {
	scheme  string
	timeout time.Duration
	// open creates a sender. It is a function, so that no format prints the URL.
	open func() (types.Service, error)
	// idle has the unused senders, or nil for one that is not open. Most senders are not safe for
	// concurrent use.
	idle chan types.Service
}

// New returns a Notifier. It makes no request. The error has a *notifier.InvalidError for each
// wrong setting, push_url or push_timeout, and shows at most the URL's scheme.
func New(c Config) (*Notifier, error) {
	problem := exchange.CheckTimeout("push_timeout", c.Timeout, MaxTimeout)
	n := &Notifier{
		scheme: notifier.ServiceScheme(c.URL), timeout: cmp.Or(c.Timeout, DefaultTimeout),
		open: func() (types.Service, error) { return openSender(c.URL) },
	}
	if n.scheme == "" {
		return nil, errors.Join(problem, &notifier.InvalidError{
			Field: "push_url", Value: shown(c.URL), Want: "a URL with one of these schemes: " + strings.Join(notifier.ServiceSchemes(), ", "),
		})
	}
	first, err := n.first(c.URL)
	if err != nil {
		err = &notifier.InvalidError{
			Field: "push_url", Value: notifier.RedactURL(c.URL), Want: "a URL as the documentation of shoutrrr has it for " + n.scheme,
		}
	}
	if err := errors.Join(problem, err); err != nil {
		return nil, err
	}
	n.idle = make(chan types.Service, parallel)
	n.idle <- first
	for range senders(n.scheme) - 1 {
		n.idle <- nil
	}
	return n, nil
}

// shown redacts a URL with an unknown scheme. Without a scheme it may be a token.
func shown(target string) string {
	if target != "" && !strings.Contains(target, "://") {
		return "…"
	}
	return notifier.RedactURL(target)
}

// first opens a sender to check the URL. It returns nil if that would make a request: Matrix logs
// in with a user and a password.
func (s *Notifier) first(target string) (types.Service, error) {
	if s.scheme == "matrix" {
		u, err := url.Parse(target)
		if err != nil || u.Host == "" {
			return nil, errNotOpened
		}
		if u.User.Username() != "" {
			return nil, nil
		}
	}
	return s.open()
}

// senders returns the maximum number of sends to a service at a time. MQTT has one: a broker ends a
// connection when another one has the same client id.
func senders(scheme string) int {
	if scheme == "mqtt" || scheme == "mqtts" {
		return 1
	}
	return parallel
}

// Close closes idle senders. It does not wait for deliveries.
func (s *Notifier) Close() error {
	var problems []error
	for range len(s.idle) {
		select {
		case sender := <-s.idle:
			if closer, ok := sender.(io.Closer); ok && closer.Close() != nil {
				problems = append(problems, fmt.Errorf("closing the connection to the service %s failed", s.scheme))
			}
			s.idle <- nil // a later send opens it again
		default:
		}
	}
	return errors.Join(problems...)
}

// Notify sends n once.
func (s *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if ctx.Err() != nil {
		return s.retry(notifier.ReasonUnreachable, "the delivery was cancelled")
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
		if sender == nil {
			var err error
			if sender, err = s.open(); err != nil {
				sender = nil
				sent <- err
				return
			}
		}
		sent <- send(sender, text, params)
	}()
	select {
	case err := <-sent:
		return s.judge(err)
	case <-ctx.Done():
		return s.retry(notifier.ReasonTimeout, "it took too long")
	}
}

// errNotOpened replaces the library's error, which repeats the URL.
var errNotOpened = errors.New("the sender can't be opened")

func openSender(target string) (sender types.Service, err error) {
	defer func() {
		if recover() != nil {
			sender, err = nil, errPanicked
		}
	}()
	sender, err = new(router.ServiceRouter).Locate(target)
	if err != nil {
		return nil, errNotOpened
	}
	return sender, nil
}

// errPanicked replaces a panic of the library, whose value may contain anything.
var errPanicked = errors.New("the library failed")

// send turns a panic of the library into an error: a message must not end the program.
func send(sender types.Service, text string, params types.Params) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return sender.Send(text, &params)
}

// judge returns the Result of a completed send.
func (s *Notifier) judge(err error) notifier.Result {
	switch reason := reasonOf(err); reason {
	case "":
		return notifier.Result{Status: notifier.Delivered}
	case notifier.ReasonExhausted:
		result := s.retry(reason, "this worker has too many open files")
		result.Status, result.Pause, result.RetryAfter = notifier.SlowDown, notifier.PauseMessage, exchange.ExhaustedPause
		return result
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

// reasonOf returns why a send failed; empty if it did not. Some services keep only the text of the
// cause.
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
	case exchange.Exhausted(err), has("socket: " + syscall.EMFILE.Error()): // a service may answer with these words, too
		return notifier.ReasonExhausted
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

func isTransport(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// retry returns the Result of a failed attempt. It omits the library's error, which contains the
// URL and the service's answer.
func (s *Notifier) retry(reason notifier.Reason, what string) notifier.Result {
	return notifier.Result{
		Status: notifier.Retry, Reason: reason, Err: fmt.Errorf("the service %s did not accept the message: %s", s.scheme, what),
	}
}
