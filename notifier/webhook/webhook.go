package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
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

// Notifier posts notifications to a URL. Make one with New.
type Notifier struct {
	target        string // without user and password
	authorization string // of the user and password in the URL; "" for none
	signer        *standardwebhooks.Webhook
	timeout       time.Duration
	userAgent     string
	now           func() time.Time
	transport     *http.Transport
}

// New returns a Notifier for c. Settings that are not allowed are all in the
// error, each as a *notifier.InvalidError; none of them shows a secret.
func New(c Config) (*Notifier, error) {
	c = c.withDefaults()
	target, err := c.validate()
	if err != nil {
		return nil, err
	}
	n := &Notifier{
		timeout:   c.Timeout,
		userAgent: c.UserAgent,
		now:       c.Now,
		transport: newTransport(),
	}
	if c.Secret != "" {
		if n.signer, err = standardwebhooks.NewWebhook(c.Secret); err != nil {
			return nil, errors.New("the webhook's secret can't be used")
		}
	}
	if user := target.User; user != nil {
		password, _ := user.Password()
		n.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
		target.User = nil
	}
	n.target = target.String()
	return n, nil
}

// newTransport is a transport of our own: the default one takes a proxy from
// the environment and keeps two connections a host.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
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
func (w *Notifier) Close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// Notify posts n once. Without a well-formed IdempotencyKey (1 to 255 of
// A-Z a-z 0-9 _ : -) it answers Permanent and sends nothing.
func (w *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()

	var connected atomic.Bool
	request, err := w.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}), n)
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

func (w *Notifier) request(ctx context.Context, n notifier.Notification) (*http.Request, error) {
	if !validKey(n.IdempotencyKey) {
		return nil, errors.New("the notification's idempotency key is missing or malformed")
	}
	body, err := json.Marshal(notifier.NewPayload(n))
	if err != nil {
		return nil, fmt.Errorf("encode the webhook's body: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.target, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the webhook's request can't be made") // err repeats the URL
	}
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", w.userAgent)
	if w.authorization != "" {
		header.Set("Authorization", w.authorization)
	}
	// In lower case, which is the same header to every server, because
	// net/http, finding the canonical spelling, would resend the request by
	// itself when a kept connection breaks, although it may have arrived.
	header["idempotency-key"] = []string{n.IdempotencyKey}

	at := w.now()
	header.Set(standardwebhooks.HeaderWebhookID, n.IdempotencyKey)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	if w.signer != nil {
		signature, err := w.signer.Sign(n.IdempotencyKey, at, body)
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
