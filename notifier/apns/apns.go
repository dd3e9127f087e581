package apns

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// silence is the time without a frame after which a connection is pinged, and pingTime the time
	// limit for the answer.
	silence  = 15 * time.Second
	pingTime = 5 * time.Second
	// idleTime is how long a connection without pushes is kept. Apple recommends keeping them, and
	// closes them itself.
	idleTime = time.Hour

	// shortestToken and longestToken bound a device token, in characters.
	shortestToken = 64
	longestToken  = 200

	// maxReconnects bounds the retries of a push on another connection after Apple closed one.
	maxReconnects = 3
)

// Notifier pushes to Apple's devices. Create one with New.
type Notifier struct {
	config   Config
	host     string
	identity string
	now      func() time.Time
	signer   *signer
	waits    *backoff
	pool     *pool
	client   exchange.Client

	mu   sync.Mutex
	busy exchange.Crowd // devices with too many pushes
}

// New returns a Notifier. The error has a *notifier.InvalidError for each wrong setting, and does
// not show the key.
func New(c Config) (*Notifier, error) {
	key, err := c.validate()
	if err != nil {
		return nil, err
	}
	c.Connections, c.Timeout = cmp.Or(c.Connections, DefaultConnections), cmp.Or(c.Timeout, DefaultTimeout)
	c.Key, c.Topics = nil, maps.Clone(c.Topics)
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode the public key: %w", err)
	}
	transport := exchange.NewTransport(&net.Dialer{}, c.Connections, c.RootCAs)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP2(true)
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: pingTime}
	transport.IdleConnTimeout = idleTime
	host := c.host()
	target, err := url.Parse(host)
	if err != nil {
		return nil, errors.New("the endpoint is not a URL") // validated above
	}
	port := cmp.Or(target.Port(), target.Scheme)
	return &Notifier{
		config: c, host: host, identity: c.identify(public), now: c.Now,
		signer: &signer{key: key, id: c.KeyID, issuer: c.TeamID},
		waits:  &backoff{},
		pool:   newPool(transport, target.Scheme, net.JoinHostPort(target.Hostname(), port), c.Connections),
		client: exchange.Client{Provider: "Apple's server", Timeout: c.Timeout, UserAgent: c.UserAgent, Transport: transport, Reasons: true},
	}, nil
}

func (c Config) identify(public []byte) string {
	sum := sha256.Sum256(public)
	text := []string{"apns", c.host(), "team " + c.TeamID, "key " + c.KeyID + " " + hex.EncodeToString(sum[:4]), "topic " + c.Topic}
	for _, app := range slices.Sorted(maps.Keys(c.Topics)) {
		text = append(text, app+" "+c.Topics[app])
	}
	return strings.Join(text, ", ")
}

// Identity returns the server, the team, the key's id with a part of the hash of its public key,
// and the topics.
func (a *Notifier) Identity() string { return a.identity }

// CheckAddress checks that an address can be a device token. The error is a *notifier.InvalidError,
// and does not show the address.
func (a *Notifier) CheckAddress(address string) error {
	if validToken(address) {
		return nil
	}
	return &notifier.InvalidError{Field: "address", Value: "(not shown)", Want: "a device token: 64 to 200 characters of 0-9 a-f"}
}

func validToken(token string) bool {
	return len(token) >= shortestToken && len(token) <= longestToken && strings.Trim(token, "0123456789abcdefABCDEF") == ""
}

// Check returns a *notifier.InvalidError if n is too large for a push, or its additions for this
// channel are not allowed.
func (a *Notifier) Check(n notifier.Notification) error {
	_, err := newPush(n, a.config.anyTopic(), a.config.allTopics(), a.now())
	return err
}

// Check is Notifier.Check without credentials. topics are the bundle ids that a message may choose
// from; nil if they are unknown.
func Check(n notifier.Notification, topics []string, now time.Time) error {
	_, err := newPush(n, "com.example", topics, now)
	return err
}

// Probe pushes to a device token of zeros, which no device has. Apple checks the provider token and
// the topic first: if it complains about the device, they are right.
func (a *Notifier) Probe(ctx context.Context) notifier.Result {
	nobody := strings.Repeat("0", shortestToken)
	n := notifier.Notification{IdempotencyKey: "probe", Device: &notifier.Device{ID: "probe", Address: nobody}, ExpiresAt: a.now()}
	p, err := newPush(n, a.config.anyTopic(), nil, a.now())
	if err != nil {
		return exchange.RefusedBeforehand(err)
	}
	result := a.send(ctx, n, p)
	if result.Status == notifier.Gone {
		return notifier.Result{Status: notifier.Delivered}
	}
	return result
}

// Close ends idle connections at once, and the others after their last answer. Later pushes fail.
func (a *Notifier) Close() error {
	a.pool.close()
	return nil
}

// Notify pushes n to its Device once.
func (a *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if n.Device == nil {
		return exchange.NotSent(notifier.ReasonNoDevice, errors.New("apns needs a device"))
	}
	if !validToken(n.Device.Address) {
		return exchange.NotSent(notifier.ReasonMisaddressed, errors.New("the device's token is malformed"))
	}
	p, err := newPush(n, a.config.topicOf(n.Device.App), a.config.allTopics(), a.now())
	if err != nil {
		return exchange.RefusedBeforehand(err)
	}
	if p.topic == "" {
		return exchange.NotSent(notifier.ReasonMisaddressed, errors.New("no topic is set for the device's app"))
	}
	result := a.send(ctx, n, p)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.busy.Note(result, n.Device.Address, notifier.PauseChannel)
}

// send sends a push, and again at once if Apple asks for another token or connection.
func (a *Notifier) send(ctx context.Context, n notifier.Notification, p push) notifier.Result {
	renewed, replaced, held, reconnects := false, false, false, 0
	for {
		token, err := a.signer.bearer(a.now())
		if err != nil {
			return notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: err}
		}
		request, err := a.request(ctx, n, p, token)
		if err != nil {
			return exchange.NotSent(notifier.ReasonRejected, err)
		}
		journey := &trip{pool: a.pool}
		client, next := a.client, settled
		client.RoundTripper = journey
		result := client.Send(ctx, request, func(answered exchange.Answer) notifier.Result {
			r, then := judge(answered, p.chosen, a.waits, a.now())
			next = then
			return r
		})
		switch next {
		case settled:
			return result
		case hold:
			again, err := a.signer.hold(token, a.now())
			if held || !again || err != nil {
				return result
			}
			held = true
		case renew:
			again, err := a.signer.renew(token, a.now())
			if renewed || !again || err != nil {
				return result
			}
			renewed = true
		case replace:
			a.pool.retireThrough(journey.used.number)
			if replaced {
				return result
			}
			replaced = true
		case reconnect:
			a.pool.retireOne(journey.used)
			if reconnects == maxReconnects {
				return result
			}
			reconnects++
		}
	}
}

func (a *Notifier) request(ctx context.Context, n notifier.Notification, p push, token string) (*http.Request, error) {
	// The reader sets the request's GetBody, so that the request can be sent again.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.host+"/3/device/"+n.Device.Address, bytes.NewReader(p.payload))
	if err != nil {
		return nil, errors.New("the request of a push can't be made") // err repeats the URL
	}
	header := request.Header
	header.Set("Authorization", "bearer "+token)
	header.Set("Content-Type", "application/json")
	header.Set("Apns-Topic", p.topic)
	header.Set("Apns-Push-Type", p.pushType)
	header.Set("Apns-Id", pushID(n))
	header.Set("Apns-Expiration", strconv.FormatInt(p.expiration, 10))
	header.Set("Apns-Priority", strconv.Itoa(p.priority))
	if p.collapseID != "" {
		header.Set("Apns-Collapse-Id", p.collapseID)
	}
	return request, nil
}
