package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// TypeEvents is the media type of a batch of CloudEvents.
const TypeEvents = "application/cloudevents-batch+json"

// CallbackConfig configures a Callback. Now is required.
type CallbackConfig struct {
	// AllowInternal allows http URLs, and URLs at internal addresses. Users of the service set
	// them, and could reach internal servers that way.
	AllowInternal bool
	// Timeout bounds one attempt, as in Config.
	Timeout time.Duration
	// UserAgent names the sender; empty means DefaultUserAgent.
	UserAgent string
	// RootCAs are the authorities for servers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the signed time.
	Now func() time.Time

	// dialer replaces the default one, for tests with a resolver.
	dialer *net.Dialer
}

// Callback posts batches of events to the callback URLs of accounts. Create one with NewCallback.
// It is safe for concurrent use.
type Callback struct {
	*poster

	allowInternal bool
}

// NewCallback returns a Callback. The error has a *notifier.InvalidError for each wrong setting.
func NewCallback(c CallbackConfig) (*Callback, error) {
	posts, err := newGuarded(c, "")
	if err != nil {
		return nil, err
	}
	return &Callback{posts, c.AllowInternal}, nil
}

// newGuarded returns a poster to URLs that users of the service set.
func newGuarded(c CallbackConfig, secret string) (*poster, error) {
	settings := Config{Timeout: c.Timeout, UserAgent: c.UserAgent, Now: c.Now}.withDefaults()
	problems := settings.validateCommon()
	if _, valid := notifier.ParseSecrets(secret); !valid {
		problems = append(problems, &notifier.InvalidError{Field: "alert_secret", Value: "(not shown)", Want: notifier.WantSecrets})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	dialer := cmp.Or(c.dialer, &net.Dialer{})
	if !c.AllowInternal {
		dialer.Control = notifier.RefuseInternal
	}
	return newPoster(posting{
		secret: secret, timeout: settings.Timeout, userAgent: settings.UserAgent, now: c.Now,
		dialer: dialer, parallel: 2, roots: c.RootCAs, // posts are few, and their hosts many
	})
}

// Batch is a batch of events to post.
type Batch struct {
	URL     string
	Secrets []string // each signs; at least one
	// Account, First and Last are the account and the ids of the first and last event. The
	// idempotency key follows from them.
	Account, First, Last string
	Body                 []byte // JSON
}

// Post posts a batch once. If the URL or the secrets are not valid, the result is Permanent and
// nothing is sent.
func (c *Callback) Post(ctx context.Context, b Batch) notifier.Result {
	target, err := url.Parse(b.URL)
	plain := err == nil && target.Scheme == "http" && c.allowInternal
	if err != nil || target.Scheme != "https" && !plain || target.Hostname() == "" || target.User != nil {
		return notifier.Result{
			Status: notifier.Permanent, Reason: notifier.ReasonMisaddressed,
			Err: errors.New("the callback is not an https: URL without user and password"),
		}
	}
	signers, err := signersOf(b.Secrets)
	if err != nil || len(signers) == 0 || !json.Valid(b.Body) {
		return unsigned()
	}
	return c.postOnce(ctx, posted{target: target.String(), key: b.key(), contentType: TypeEvents, body: b.Body, signers: signers})
}

func unsigned() notifier.Result {
	return notifier.Result{
		Status: notifier.Permanent, Reason: notifier.ReasonRejected,
		Err: errors.New("the batch can't be signed: its secrets or its body are not sound"),
	}
}

// key returns the batch's idempotency key: 32 characters of 0-9 a-f.
func (b Batch) key() string {
	sum := sha256.Sum256([]byte("events\x00" + b.Account + "\x00" + b.First + "\x00" + b.Last))
	return hex.EncodeToString(sum[:16])
}
