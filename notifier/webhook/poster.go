package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// maxDrain and drainTime bound what is read of an answer's body, for no
	// other purpose than to use the connection again.
	maxDrain  = 64 << 10
	drainTime = 250 * time.Millisecond

	maxAnswerHeader = 64 << 10
	// parallel is how many connections to the host stay open between
	// deliveries.
	parallel = 64
	// idleTime is below what servers and load balancers commonly keep, so that
	// we, not they, close a connection: a request sent while they do is lost.
	idleTime = 30 * time.Second
)

// posting is how a poster posts.
type posting struct {
	secret    string // "" for unsigned
	timeout   time.Duration
	userAgent string
	now       func() time.Time
	dialer    *net.Dialer
	parallel  int // connections to one host that stay open between deliveries
}

// poster posts JSON with the headers of Standard Webhooks.
type poster struct {
	signer    *standardwebhooks.Webhook
	timeout   time.Duration
	userAgent string
	now       func() time.Time
	transport *http.Transport
}

func newPoster(p posting) (*poster, error) {
	made := &poster{timeout: p.timeout, userAgent: p.userAgent, now: p.now, transport: newTransport(p.dialer, p.parallel)}
	if p.secret != "" {
		signer, err := standardwebhooks.NewWebhook(p.secret)
		if err != nil {
			return nil, errors.New("the webhook's secret can't be used")
		}
		made.signer = signer
	}
	return made, nil
}

// newTransport is a transport of our own: the default one takes a proxy from
// the environment and keeps two connections a host.
func newTransport(dialer *net.Dialer, parallel int) *http.Transport {
	dialer.Timeout, dialer.KeepAlive = 5*time.Second, 30*time.Second
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		// Without pings a dead HTTP/2 connection takes requests until the
		// operating system gives it up, a quarter of an hour later.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
		MaxIdleConns:           parallel,
		MaxIdleConnsPerHost:    parallel,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true, // bodies are thrown away
	}
}

// Close closes connections that are idle. It does not wait for deliveries.
func (w *poster) Close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// post posts body once. Without a well-formed key (1 to 255 of A-Z a-z 0-9 _ : -)
// it answers Permanent and sends nothing.
func (w *poster) post(ctx context.Context, target, authorization, key string, body any) notifier.Result {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()

	var connected atomic.Bool
	request, err := w.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}), target, authorization, key, body)
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: err}
	}
	// The transport itself rather than an http.Client: it follows no redirect,
	// keeps no cookie, and takes an answer for what it is.
	answer, err := w.transport.RoundTrip(request)
	if err != nil {
		return failed(ctx, err, connected.Load())
	}
	defer answer.Body.Close()
	drain(ctx, answer.Body)
	return judge(answer.StatusCode, answer.Header, w.now())
}

func (w *poster) request(ctx context.Context, target, authorization, key string, content any) (*http.Request, error) {
	if !validKey(key) {
		return nil, errors.New("the notification's idempotency key is missing or malformed")
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the webhook's body: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the webhook's request can't be made") // err repeats the URL
	}
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", w.userAgent)
	if authorization != "" {
		header.Set("Authorization", authorization)
	}
	// In lower case, which is the same header to every server, because
	// net/http, finding the canonical spelling, would resend the request by
	// itself when a kept connection breaks, although it may have arrived.
	header["idempotency-key"] = []string{key}

	at := w.now()
	header.Set(standardwebhooks.HeaderWebhookID, key)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	if w.signer != nil {
		signature, err := w.signer.Sign(key, at, body)
		if err != nil {
			return nil, fmt.Errorf("sign the webhook: %w", err)
		}
		header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	}
	return request, nil
}

// validKey leaves out the full stop, which separates the parts of what is
// signed.
func validKey(key string) bool {
	return key != "" && len(key) <= 255 && strings.IndexFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != ':' && r != '-'
	}) < 0
}

// drain reads a little of the body for a short while, and closes it if that is
// not enough. A body read to its end leaves the connection open for the next
// delivery; one that is endless or slow costs the connection.
func drain(ctx context.Context, body io.ReadCloser) {
	ctx, stop := context.WithTimeout(ctx, drainTime)
	defer stop()
	// The answer is in its status: what becomes of the body changes nothing.
	defer context.AfterFunc(ctx, func() { _ = body.Close() })()
	_, _ = io.CopyN(io.Discard, body, maxDrain+1)
}
