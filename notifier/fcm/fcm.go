package fcm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// parallel is how many idle connections to an emulator are kept.
	parallel = 64
	// maxToken bounds a device's token, in bytes. Tokens have less than 300.
	maxToken = 4096
	// probeTopic is the topic of messages that are only validated.
	probeTopic = "sendlimit-probe"
)

// Notifier pushes through Firebase Cloud Messaging. Make one with New.
type Notifier struct {
	account account
	url     string
	now     func() time.Time
	tokens  *tokens
	client  exchange.Client
	waits   waits
}

// New returns a Notifier for c. The error has a *notifier.InvalidError for each setting that
// is not allowed, and does not show the key.
func New(c Config) (*Notifier, error) {
	a, endpoint, err := c.validate()
	if err != nil {
		return nil, err
	}
	client := exchange.Client{Provider: "FCM", Timeout: c.Timeout, Reasons: true, Receipts: true}
	if strings.HasPrefix(endpoint, "https:") {
		client.Sender = exchange.NewHTTP2Transport(&net.Dialer{}, c.RootCAs)
	} else { // an emulator
		client.Transport = exchange.NewTransport(&net.Dialer{}, parallel)
	}
	if client.Timeout == 0 {
		client.Timeout = DefaultTimeout
	}
	exchanging := client
	exchanging.Provider, exchanging.Sender, exchanging.Transport = "the token server", nil, tokenTransport(c.RootCAs)
	return &Notifier{
		account: a, url: endpoint + "/v1/projects/" + a.project + "/messages:send", now: c.Now, client: client,
		tokens: newTokens(a, exchanging, c.Now),
	}, nil
}

// tokenTransport returns the transport to the token server, which gets a request an hour.
func tokenTransport(roots *x509.CertPool) *http.Transport {
	transport := exchange.NewTransport(&net.Dialer{}, 1)
	if roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return transport
}

// Identity returns the project and the service account.
func (f *Notifier) Identity() string { return f.account.project + " " + f.account.email }

// Check is the function Check.
func (f *Notifier) Check(n notifier.Notification) error { return Check(n) }

// Close ends a running renewal of the token, and closes idle connections. It does not wait for
// deliveries.
func (f *Notifier) Close() error {
	f.tokens.close()
	f.tokens.client.Transport.CloseIdleConnections()
	if f.client.Transport != nil {
		f.client.Transport.CloseIdleConnections()
	}
	if connections, ok := f.client.Sender.(*http2.Transport); ok {
		connections.CloseIdleConnections()
	}
	return nil
}

// Probe has Google validate a message to a topic, which is not sent.
func (f *Notifier) Probe(ctx context.Context) notifier.Result {
	result, _ := f.send(ctx, object{"topic": probeTopic, "data": object{"probe": "1"}}, true)
	if result.Status == notifier.Delivered {
		result.ProviderID = ""
	}
	return result
}

// Notify pushes n once, to its Device.
func (f *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if n.Device == nil {
		return permanent(notifier.ReasonNoDevice, errors.New("fcm needs a device"))
	}
	address := n.Device.Address
	if address == "" || len(address) > maxToken || strings.IndexFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return permanent(notifier.ReasonMisaddressed, errors.New("the device's token is malformed"))
	}
	message, err := newMessage(n, f.now())
	if err != nil {
		return refusedBeforehand(err)
	}
	message["token"] = address
	result, said := f.send(ctx, message, false)
	if said != maybeMisnamed {
		return result
	}
	// Google uses the same words for a token and for a message that it can't read. The token
	// is to blame if the message passes with another target.
	delete(message, "token")
	message["topic"] = probeTopic
	checked, _ := f.send(ctx, message, true)
	switch checked.Status {
	case notifier.Delivered:
		return notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonGone, Err: result.Err}
	case notifier.Permanent:
		return result
	default: // it can't be told now
		if checked.Uncertain() { // nothing was to be sent
			checked.Reason = notifier.ReasonUnreachable
		}
		return checked
	}
}

// send posts a message, with another bearer token if Google refuses the first one.
func (f *Notifier) send(ctx context.Context, message object, validateOnly bool) (notifier.Result, verdict) {
	envelope := object{"message": message}
	if validateOnly {
		envelope["validate_only"] = true
	}
	body, err := encode(envelope)
	if err != nil {
		return permanent(notifier.ReasonRejected, err), asItIs
	}
	for renewed := false; ; renewed = true {
		bearer, missing := f.tokens.get(ctx)
		if missing != nil {
			return *missing, asItIs
		}
		result, said := f.post(ctx, body, bearer)
		if said != staleToken || renewed {
			return result, said
		}
		f.tokens.forget(bearer)
	}
}

func (f *Notifier) post(ctx context.Context, body []byte, bearer string) (notifier.Result, verdict) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return permanent(notifier.ReasonRejected, errors.New("the request of a push can't be made")), asItIs
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "sendlimit")
	said := asItIs
	result := f.client.Send(ctx, request, func(a exchange.Answer) notifier.Result {
		var r notifier.Result
		r, said = judge(a, f.now(), f.waits.inARow())
		return r
	})
	f.waits.note(result, f.now())
	return result, said
}

// refusedBeforehand returns the Result of a message that can't be pushed. Values of the message
// are not for the log.
func refusedBeforehand(err error) notifier.Result {
	invalid, ok := errors.AsType[*notifier.InvalidError](err)
	switch {
	case !ok:
		return permanent(notifier.ReasonRejected, err)
	case invalid.Field == fieldMessage:
		return permanent(notifier.ReasonTooLarge, err)
	default:
		return permanent(notifier.ReasonRejected, fmt.Errorf("its %s is not allowed", invalid.Field))
	}
}

func permanent(reason notifier.Reason, err error) notifier.Result {
	return notifier.Result{Status: notifier.Permanent, Reason: reason, Err: fmt.Errorf("the push was not sent: %w", err)}
}
