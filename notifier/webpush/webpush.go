package webpush

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// parallel is the number of idle connections that are kept to one host. With HTTP/2 one has many
// pushes.
const parallel = 64

// Notifier pushes to browsers. Create one with New.
type Notifier struct {
	hosts  hosts
	now    func() time.Time
	signer *signer
	pauses *pauses
	client exchange.Client
}

// New returns a Notifier. The error has a *notifier.InvalidError for each wrong setting, and does
// not show the key.
func New(c Config) (*Notifier, error) {
	key, subject, err := c.validate()
	if err != nil {
		return nil, err
	}
	signs, err := newSigner(key, subject)
	if err != nil {
		return nil, err
	}
	waits, err := newPauses()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{}
	if !c.AllowInternal {
		dialer.Control = notifier.RefuseInternal
	}
	transport := exchange.NewTransport(dialer, parallel, c.RootCAs)
	return &Notifier{hosts: hostsOf(c.Hosts), now: c.Now, signer: signs, pauses: waits, client: exchange.Client{
		Provider: "the push service", Timeout: cmp.Or(c.Timeout, DefaultTimeout), UserAgent: c.UserAgent, Transport: transport, Reasons: true,
	}}, nil
}

// PublicKey returns the public VAPID key, the applicationServerKey of browsers' PushManager.
func (w *Notifier) PublicKey() string { return w.signer.public }

// CheckAddress checks that an address is a subscription with an allowed endpoint. The error is a
// *notifier.InvalidError, and shows at most the host.
func (w *Notifier) CheckAddress(address string) error { return w.hosts.check(address) }

// CheckAddress is Notifier.CheckAddress with a Config.Hosts.
func CheckAddress(configured []string, address string) error {
	return hostsOf(configured).check(address)
}

// Check returns a *notifier.InvalidError if n is too large for a push, or its additions for this
// channel are not allowed.
func (w *Notifier) Check(n notifier.Notification) error { return Check(n, w.now()) }

// Check is Notifier.Check without credentials.
func Check(n notifier.Notification, now time.Time) error {
	_, err := newPush(n, now)
	return err
}

// Probe signs a VAPID token. It makes no request: push services check a token only with a push.
func (w *Notifier) Probe(context.Context) notifier.Result {
	if _, err := w.signer.authorization("https://push.invalid", w.now()); err != nil {
		return notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: err}
	}
	return notifier.Result{Status: notifier.Delivered}
}

// Identity returns the public VAPID key: subscriptions work only with their key.
func (w *Notifier) Identity() string { return w.PublicKey() }

// HostOf returns the host of a subscription; "" if the address is none.
func (w *Notifier) HostOf(address string) string {
	s, err := ParseSubscription(address)
	if err != nil {
		return ""
	}
	return s.host()
}

// Close closes idle connections. It does not wait for deliveries.
func (w *Notifier) Close() error {
	w.client.Transport.CloseIdleConnections()
	return nil
}

// Notify pushes n to its Device once.
func (w *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if n.Device == nil {
		return exchange.NotSent(notifier.ReasonNoDevice, errors.New("web push needs a device"))
	}
	s, err := ParseSubscription(n.Device.Address)
	if err != nil || !w.hosts.allow(s.endpoint) {
		// The host is not shown, since an endpoint may be a user's own.
		return exchange.NotSent(notifier.ReasonMisaddressed, errors.New("the device's subscription is malformed, or its endpoint is not one that is pushed to"))
	}
	now := w.now()
	p, err := newPush(n, now)
	if err != nil {
		return exchange.RefusedBeforehand(err)
	}
	if left, why := w.pauses.of(s.origin(), now); left > 0 {
		return notifier.Result{
			Status: notifier.SlowDown, Reason: why, RetryAfter: left, Pause: notifier.PauseHost,
			Err: errors.New("the push service asked for a pause"),
		}
	}
	request, err := w.request(ctx, s, p, now)
	if err != nil {
		return exchange.NotSent(notifier.ReasonRejected, err)
	}
	result := w.client.Send(ctx, request, func(a exchange.Answer) notifier.Result {
		return judge(a, s.host(), w.now())
	})
	return w.pauses.note(s.origin(), n.Device.Address, result, w.now())
}

func (w *Notifier) request(ctx context.Context, s Subscription, p push, now time.Time) (*http.Request, error) {
	authorization, err := w.signer.authorization(s.origin(), now)
	if err != nil {
		return nil, err
	}
	body, err := encrypt(s, p.payload)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request of a push can't be made") // err repeats the URL
	}
	header := request.Header
	header.Set("Authorization", authorization)
	header.Set("Content-Encoding", "aes128gcm")
	header.Set("Content-Type", "application/octet-stream")
	header.Set("TTL", strconv.FormatInt(int64(p.ttl/time.Second), 10))
	header.Set("Urgency", p.urgency)
	header.Set("Topic", p.topic)
	return request, nil
}
