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
	// maxDrain and drainTime bound how much of an answer's body is read after the result.
	// It is read only so that the connection can be used again.
	maxDrain  = 64 << 10
	drainTime = 250 * time.Millisecond

	// MaxReason and reasonTime bound how much is read of a body that says what went wrong.
	MaxReason  = 4 << 10
	reasonTime = time.Second
)

// DefaultUserAgent is the default of Client.UserAgent.
const DefaultUserAgent = "sendlimit"

// Client sends the requests of one channel. It is safe for concurrent use.
type Client struct {
	Provider  string        // names the other side in errors: "the webhook"
	Timeout   time.Duration // bounds one request, from dialing to the answer's headers
	Transport *http.Transport
	UserAgent string // names the sender; empty means DefaultUserAgent
	// RoundTripper sends in place of Transport, for a channel that keeps its connections itself;
	// nil for Transport. It wraps ErrNotProcessed where it knows more than net/http tells.
	RoundTripper http.RoundTripper
	// Reasons has the first MaxReason bytes of an answer other than 2xx read before it is
	// judged. A body that is slow, broken or longer is judged by what came.
	Reasons bool
	// Bodies has those of 2xx answers read too.
	Bodies bool
	// Propagate tells the other side the trace of the request, in the headers of W3C Trace
	// Context.
	Propagate bool
}

// Answer is what a provider answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // see Client.Reasons and Client.Bodies
}

// Send sends a request once, and returns what judge makes of the answer. The rest of the
// answer's body is read in a notifier.Cleanup.
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
	// The headers are written before the body, to a buffer. So before WroteHeaders the body
	// is certainly not complete.
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

// reason reads the beginning of a body within bounds, and reports whether that is all of it. The
// end of the request's context ends it too.
func reason(body io.ReadCloser) (text []byte, ended bool) {
	// A body that was cut off says as much as has come.
	tooLong := time.AfterFunc(reasonTime, func() { _ = body.Close() })
	defer tooLong.Stop()
	text, err := io.ReadAll(io.LimitReader(body, MaxReason))
	return text, err == nil && len(text) < MaxReason
}

// drain reads the body within bounds. After a body that was read to its end the connection can be
// used again; after an endless or slow one it is closed.
func drain(body io.ReadCloser) {
	tooLong := time.AfterFunc(drainTime, func() { _ = body.Close() })
	defer tooLong.Stop()
	// The body does not change the result.
	_, _ = io.CopyN(io.Discard, body, maxDrain+1)
}
