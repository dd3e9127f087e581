package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// parallel is the number of idle connections that are kept to the host.
const parallel = 64

// posting configures a poster.
type posting struct {
	secret    string // as in Config
	timeout   time.Duration
	userAgent string
	now       func() time.Time
	dialer    *net.Dialer
	parallel  int // kept idle connections to one host
	headers   http.Header
	roots     *x509.CertPool                        // nil for the system's
	proxy     func(*http.Request) (*url.URL, error) // nil for none
	ours      bool                                  // see judge
}

// poster posts JSON with the headers of Standard Webhooks.
type poster struct {
	signers []*standardwebhooks.Webhook // none for unsigned
	now     func() time.Time
	client  exchange.Client
	headers http.Header // of every request
	ours    bool        // see judge
}

func newPoster(p posting) (*poster, error) {
	made := &poster{now: p.now, headers: p.headers, ours: p.ours, client: exchange.Client{
		Provider: "the webhook", Timeout: p.timeout, UserAgent: p.userAgent, Transport: exchange.NewTransport(p.dialer, p.parallel, p.roots),
		Propagate: p.ours,
	}}
	made.client.Transport.Proxy = p.proxy
	secrets, _ := notifier.ParseSecrets(p.secret) // which is valid
	var err error
	if made.signers, err = signersOf(secrets); err != nil {
		return nil, err
	}
	return made, nil
}

// signersOf returns a signer for each secret.
func signersOf(secrets []string) ([]*standardwebhooks.Webhook, error) {
	var signers []*standardwebhooks.Webhook
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil || secret == "" {
			return nil, errors.New("the webhook's secret can't be used") // err may repeat it
		}
		signers = append(signers, signer)
	}
	return signers, nil
}

// Close closes idle connections. It does not wait for deliveries.
func (w *poster) Close() error {
	w.client.Transport.CloseIdleConnections()
	return nil
}

// posted is one request.
type posted struct {
	target        string
	authorization string // "" for none
	key           string
	contentType   string
	body          []byte
	signers       []*standardwebhooks.Webhook // none for unsigned
}

// post posts the JSON of content once, signed with the poster's secrets, see postOnce.
func (w *poster) post(ctx context.Context, target, authorization, key string, content any) notifier.Result {
	body, err := json.Marshal(content)
	if err != nil {
		return notifier.Result{
			Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: fmt.Errorf("encode the webhook's body: %w", err),
		}
	}
	return w.postOnce(ctx, posted{
		target: target, authorization: authorization, key: key, contentType: "application/json", body: body, signers: w.signers,
	})
}

// postOnce posts once. The answer's body is read in a notifier.Cleanup. Without a valid key (1 to
// 255 of A-Z a-z 0-9 _ : -) the result is Permanent and nothing is sent.
func (w *poster) postOnce(ctx context.Context, p posted) notifier.Result {
	request, err := w.request(ctx, p)
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: err}
	}
	result := w.client.Send(ctx, request, func(a exchange.Answer) notifier.Result {
		return judge(a.Status, a.Header, w.ours, w.now())
	})
	if !w.ours && result.Status == notifier.SlowDown { // an alert or an event has a time instead of attempts
		result.Status, result.Pause = notifier.Retry, 0
	}
	return result
}

func (w *poster) request(ctx context.Context, p posted) (*http.Request, error) {
	if !validKey(p.key) {
		return nil, errors.New("the notification's idempotency key is missing or malformed")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target, bytes.NewReader(p.body))
	if err != nil {
		return nil, errors.New("the webhook's request can't be made") // err repeats the URL
	}
	header := request.Header
	maps.Copy(header, w.headers)
	header.Set("Content-Type", p.contentType)
	if p.authorization != "" {
		header.Set("Authorization", p.authorization)
	}
	// The lower case is the same header for every server. With the canonical spelling net/http
	// would send the request again if a kept connection breaks, although it may have arrived.
	header["idempotency-key"] = []string{p.key}

	at := w.now()
	header.Set(standardwebhooks.HeaderWebhookID, p.key)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	var signatures []string
	for _, signer := range p.signers {
		signature, err := signer.Sign(p.key, at, p.body)
		if err != nil {
			return nil, fmt.Errorf("sign the webhook: %w", err)
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) > 0 {
		header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	}
	return request, nil
}

// validKey reports whether a key is valid. It has no full stop, which separates the parts of the
// signed text.
func validKey(key string) bool {
	return key != "" && len(key) <= 255 && strings.IndexFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != ':' && r != '-'
	}) < 0
}
