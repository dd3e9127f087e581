package fcm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// maxConnections bounds the connections to FCM. Each carries about 100 pushes at a time.
	maxConnections = 8
	// maxToken bounds a device's token, in bytes. Real ones have less than 300.
	maxToken = 4096
	// thirdPartyPause is the pause of a device whose platform refuses the project.
	thirdPartyPause = time.Minute
	// probeTopic is the topic of messages that are only validated. Nobody needs to know it.
	probeTopic = "sendlimit-probe"
)

// Notifier pushes through FCM. Create one with New.
type Notifier struct {
	account  account
	identity string
	url      string
	now      func() time.Time
	client   exchange.Client
	tokens   *tokens
	backoffs *backoffs
}

// New returns a Notifier. The error has a *notifier.InvalidError for each wrong setting, and does
// not show the credentials.
func New(c Config) (*Notifier, error) {
	a, err := c.validate()
	if err != nil {
		return nil, err
	}
	waits, err := newBackoffs()
	if err != nil {
		return nil, err
	}
	c.Endpoint, c.Timeout = cmp.Or(c.Endpoint, DefaultEndpoint), cmp.Or(c.Timeout, DefaultTimeout)
	client := exchange.Client{Provider: "FCM", Timeout: c.Timeout, UserAgent: c.UserAgent, Transport: newTransport(c), Reasons: true, Bodies: true}
	exchanges := client
	exchanges.Provider = "the token endpoint"
	endpoint := strings.TrimSuffix(c.Endpoint, "/")
	return &Notifier{
		account: a, identity: a.identity() + " at " + strings.TrimPrefix(endpoint, "https://"),
		url: endpoint + "/v1/projects/" + a.project + "/messages:send",
		now: c.Now, client: client, backoffs: waits,
		tokens: &tokens{account: a, client: exchanges, backoffs: waits, now: c.Now},
	}, nil
}

func newTransport(c Config) *http.Transport {
	transport := exchange.NewTransport(&net.Dialer{}, maxConnections, c.RootCAs)
	// Without a bound, a burst dials once for each push until the first connection is open.
	transport.MaxConnsPerHost = maxConnections
	return transport
}

// Identity returns the project, the endpoint, and a hash of the service account's address and key
// id.
func (f *Notifier) Identity() string { return f.identity }

// CheckAddress checks that an address can be a registration token. The error is a
// *notifier.InvalidError, and does not show the address.
func (f *Notifier) CheckAddress(address string) error {
	if address == "" || len(address) > maxToken || !exchange.Printable(address) {
		return &notifier.InvalidError{Field: "address", Value: "(not shown)", Want: "an FCM registration token"}
	}
	return nil
}

// Check returns a *notifier.InvalidError if n is too large, has a data key that FCM reserves, or
// has wrong additions for this channel.
func (f *Notifier) Check(n notifier.Notification) error { return Check(n, f.now()) }

// Check is Notifier.Check without credentials.
func Check(n notifier.Notification, now time.Time) error {
	message, err := newMessage(n, now)
	if err == nil {
		_, err = newBody(message)
	}
	return err
}

// Probe validates a message to a topic, without sending it.
func (f *Notifier) Probe(ctx context.Context) notifier.Result {
	r := f.check(ctx, object{"data": object{"probe": "true"}})
	r.ProviderID = "" // there is no message
	return r
}

// Close ends a token renewal and closes idle connections. It does not wait for deliveries.
func (f *Notifier) Close() error {
	f.tokens.close()
	f.client.Transport.CloseIdleConnections()
	return nil
}

// Notify pushes n to its Device once.
func (f *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if n.Device == nil {
		return exchange.NotSent(notifier.ReasonNoDevice, errors.New("fcm needs a device"))
	}
	if f.CheckAddress(n.Device.Address) != nil {
		return exchange.NotSent(notifier.ReasonMisaddressed, errors.New("the device's address is not a registration token"))
	}
	message, err := newMessage(n, f.now())
	if err != nil {
		return exchange.RefusedBeforehand(err)
	}
	message["token"] = n.Device.Address
	body, err := newBody(message)
	if err != nil {
		return exchange.RefusedBeforehand(err)
	}
	result, more := f.send(ctx, body, n.Device.Address)
	if more == askOtherwise {
		result = f.blame(ctx, result, message)
	}
	if aimsElsewhere(message) {
		return ofMessage(result)
	}
	return result
}

// send sends a body, and again with a new token if FCM refuses ours. device is the device's token,
// "" for none.
func (f *Notifier) send(ctx context.Context, body []byte, device string) (notifier.Result, again) {
	result, more := f.try(ctx, body, device)
	if more == renewToken {
		return f.try(ctx, body, device)
	}
	return result, more
}

// blame finds out whether the message or the device's token is malformed: FCM validates the same
// message to a topic. result is that of the message, which was not sent.
func (f *Notifier) blame(ctx context.Context, result notifier.Result, message object) notifier.Result {
	checked := f.check(ctx, message)
	switch {
	case checked.Status == notifier.Delivered:
		return notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonGone, Err: result.Err}
	case checked.Status == notifier.Permanent, checked.Status == notifier.Gone:
		return result
	case checked.Uncertain():
		checked.Reason = notifier.ReasonUnreachable // nothing was to be sent
	}
	return checked
}

// check validates a message to a topic, without sending it.
func (f *Notifier) check(ctx context.Context, message object) notifier.Result {
	checked := object{"topic": probeTopic}
	for name, value := range message {
		if name != "token" {
			checked[name] = value
		}
	}
	body, err := exchange.Encode(object{"validate_only": true, "message": checked})
	if err != nil {
		return exchange.NotSent(notifier.ReasonRejected, err)
	}
	result, _ := f.send(ctx, body, "")
	return result
}

// try sends a body once.
func (f *Notifier) try(ctx context.Context, body []byte, device string) (result notifier.Result, more again) {
	token, failure := f.tokens.bearer(ctx)
	if token == "" {
		return failure, 0
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return exchange.NotSent(notifier.ReasonRejected, errors.New("the request of a push can't be made")), 0
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	result = f.client.Send(ctx, request, func(a exchange.Answer) (r notifier.Result) {
		r, more = f.judge(a, device)
		return r
	})
	if more == renewToken {
		f.tokens.reject(token)
	}
	return result, more
}

// judge returns the Result of FCM's answer with its wait, and whether it is final.
func (f *Notifier) judge(a exchange.Answer, device string) (notifier.Result, again) {
	now := f.now()
	asked := exchange.RetryAfter(a.Header, now, MaxRetryAfter)
	r, more := judge(a, asked > 0)
	said := readWords(a.Body)
	who, first := backoffOverload, firstOverload
	switch {
	case r.Status == notifier.Delivered:
		f.backoffs.accepted()
	case a.Status == http.StatusUnauthorized && asked == 0:
		asked = thirdPartyPause
	case r.Pause == notifier.PauseDevice && a.Status == http.StatusTooManyRequests && len(said.quotas) == 0 && f.backoffs.concernsAll(device):
		r.Pause = notifier.PauseChannel
		who, first = backoffQuota, firstQuota
	case a.Status == http.StatusTooManyRequests && r.Pause == notifier.PauseChannel:
		who, first = backoffQuota, firstQuota
	case a.Status == http.StatusTooManyRequests:
		sum := sha256.Sum256([]byte(device))
		who, first = r.Pause.String()+string(sum[:16]), firstQuota
	case r.Status == notifier.Retry && asked == 0 && said.failed():
		asked = firstOverload
	}
	r.Unclear = r.Pause == notifier.PauseDevice && r.Reason == notifier.ReasonRateLimited && len(said.quotas) == 0
	return f.backoffs.settle(r, asked, who, first, now), more
}
