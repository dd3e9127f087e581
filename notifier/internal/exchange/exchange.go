package exchange

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// maxDrain and drainTime bound the read of an answer's body after the result, which lets the
	// connection be used again.
	maxDrain  = 64 << 10
	drainTime = 250 * time.Millisecond

	// MaxReason and reasonTime bound the read of a body before the result.
	MaxReason  = 4 << 10
	reasonTime = time.Second
)

// DefaultUserAgent is the default of Client.UserAgent.
const DefaultUserAgent = "sendlimit"

// Client sends the requests of one channel. It is safe for concurrent use.
type Client struct {
	Provider  string        // the name in errors: "the webhook"
	Timeout   time.Duration // bounds one request, from dialing to the answer's headers
	Transport *http.Transport
	UserAgent string // empty means DefaultUserAgent
	// RoundTripper replaces Transport, for a channel with its own connections; nil for Transport.
	// Its error wraps ErrNotProcessed if it knows more than net/http.
	RoundTripper http.RoundTripper
	// Reasons reads the first MaxReason bytes of an answer other than 2xx before it is judged. A
	// slow or broken body is judged by the part that came.
	Reasons bool
	// Bodies does the same for 2xx answers.
	Bodies bool
	// Propagate sends the request's trace in the headers of W3C Trace Context.
	Propagate bool
}

// Answer is a provider's answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // see Client.Reasons and Client.Bodies
}

// Send sends a request once, and returns judge's Result of the answer. The rest of the answer's
// body is read in a notifier.Cleanup.
func (c Client) Send(ctx context.Context, request *http.Request, judge func(Answer) notifier.Result) notifier.Result {
	ctx, span := c.trace(ctx, request)
	delivering := ctx
	ctx, cancel := context.WithTimeout(delivering, c.Timeout)
	answered := false
	defer func() {
		if !answered {
			cancel()
		}
	}()
	// The headers are written before the body, to a buffer. So the body is not complete before
	// WroteHeaders.
	var written atomic.Bool
	request = request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { written.Store(true) },
	}))
	request.Header.Set("User-Agent", cmp.Or(c.UserAgent, DefaultUserAgent))
	// The transport, unlike an http.Client, follows no redirects and keeps no cookies.
	response, err := c.roundTripper().RoundTrip(request)
	if err != nil {
		result := c.failed(ctx, err, written.Load())
		endTrace(span, 0, result)
		return result
	}
	answered = true
	answer, ended := Answer{Status: response.StatusCode, Header: response.Header}, false
	if succeeded := answer.Status >= 200 && answer.Status <= 299; succeeded && c.Bodies || !succeeded && c.Reasons {
		answer.Body, ended = reason(response.Body)
	}
	notifier.Cleanup(delivering, func() {
		defer cancel()
		defer response.Body.Close()
		if !ended {
			drain(response.Body)
		}
	})
	result := judge(answer)
	endTrace(span, answer.Status, result)
	return result
}

func (c Client) roundTripper() http.RoundTripper {
	if c.RoundTripper != nil {
		return c.RoundTripper
	}
	return c.Transport
}

// reason reads the beginning of a body within bounds, and reports whether that is all of it. It
// ends with the request's context.
func reason(body io.ReadCloser) (text []byte, ended bool) {
	// The part of a broken body is used.
	tooLong := time.AfterFunc(reasonTime, func() { _ = body.Close() })
	defer tooLong.Stop()
	text, err := io.ReadAll(io.LimitReader(body, MaxReason))
	return text, err == nil && len(text) < MaxReason
}

// drain reads the rest of a body within bounds. After the end of the body the connection can be
// used again; with an endless or slow body it is closed.
func drain(body io.ReadCloser) {
	tooLong := time.AfterFunc(drainTime, func() { _ = body.Close() })
	defer tooLong.Stop()
	// The body does not change the result.
	_, _ = io.CopyN(io.Discard, body, maxDrain+1)
}
