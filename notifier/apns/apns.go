package apns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// minToken and maxToken bound a device token, in characters.
	minToken, maxToken = 64, 200
)

// Notifier pushes to Apple's devices. Make one with New.
type Notifier struct {
	config   Config
	endpoint string
	signer   *signer
	pool     *pool
	client   exchange.Client
}

// New returns a Notifier for c. The error has a *notifier.InvalidError for each setting that
// is not allowed, and does not show the key.
func New(c Config) (*Notifier, error) {
	key, err := c.validate()
	if err != nil {
		return nil, err
	}
	c.Key = nil // it is in key
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Connections == 0 {
		c.Connections = DefaultConnections
	}
	connections := newPool(c.Connections, c.RootCAs)
	return &Notifier{
		config: c, endpoint: c.endpoint(), pool: connections,
		signer: &signer{key: key, keyID: c.KeyID, teamID: c.TeamID},
		client: exchange.Client{Provider: "APNs", Timeout: c.Timeout, Sender: connections, Reasons: true},
	}, nil
}

// CheckAddress checks a device's address: that it can be a device token. The error is a
// *notifier.InvalidError that does not show it.
func CheckAddress(address string) error {
	const digits = "0123456789abcdefABCDEF"
	if len(address) >= minToken && len(address) <= maxToken && strings.Trim(address, digits) == "" {
		return nil
	}
	return &notifier.InvalidError{Field: "address", Value: "(not shown)", Want: "a device token: 64 to 200 hexadecimal digits"}
}

// CheckAddress is the function CheckAddress.
func (a *Notifier) CheckAddress(address string) error { return CheckAddress(address) }

// Check is the function Check.
func (a *Notifier) Check(n notifier.Notification) error { return Check(n) }

// Identity returns the team, the key's id, the topics and the endpoint.
func (a *Notifier) Identity() string { return a.config.identity() }

// Close closes idle connections, and the others once their pushes have ended. It does not wait
// for deliveries.
func (a *Notifier) Close() error {
	a.pool.retire(nil)
	return nil
}

// Probe pushes to a device token of zeros, which no device has. APNs looks at the credentials
// first: if it only refuses the device token it has accepted them.
func (a *Notifier) Probe(ctx context.Context) notifier.Result {
	topic := a.config.Topic
	for _, app := range sortedKeys(a.config.Topics) {
		if topic == "" {
			topic = a.config.Topics[app]
		}
	}
	p, err := newPush(notifier.Notification{})
	if err != nil {
		return permanent(notifier.ReasonRejected, err)
	}
	result := a.deliver(ctx, delivery{
		push: p, deviceToken: strings.Repeat("0", minToken), topic: topic, expiration: "0", id: pushID("probe", ""),
	})
	if result.Status == notifier.Gone || result.Status == notifier.Delivered {
		return notifier.Result{Status: notifier.Delivered}
	}
	return result
}

// Notify pushes n once, to its Device.
func (a *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if n.Device == nil {
		return permanent(notifier.ReasonNoDevice, errors.New("APNs needs a device"))
	}
	if CheckAddress(n.Device.Address) != nil {
		return permanent(notifier.ReasonMisaddressed, errors.New("the device token is malformed"))
	}
	topic := a.config.Topic
	if own, ok := a.config.Topics[n.Device.App]; ok {
		topic = own
	}
	if topic == "" {
		return permanent(notifier.ReasonMisaddressed, errors.New("no topic is set for the device's app"))
	}
	p, err := newPush(n)
	if err != nil {
		return refusedBeforehand(err)
	}
	d := delivery{
		push: p, deviceToken: n.Device.Address, topic: topic + p.topicSuffix, changed: p.topicSuffix != "",
		id: pushID(n.IdempotencyKey, n.Device.ID),
	}
	if !n.ExpiresAt.IsZero() {
		d.expiration = "0" // not kept for a device that is not connected
		if n.ExpiresAt.After(a.config.Now()) {
			d.expiration = strconv.FormatInt(n.ExpiresAt.Unix(), 10)
		}
	}
	return a.deliver(ctx, d)
}

// delivery is a push to a device.
type delivery struct {
	push

	deviceToken string // a secret
	topic       string
	changed     bool   // the message changed the topic
	expiration  string // "" for Apple's own
	id          string
}

// deliver sends a push, and once more where an answer asks for that: for each of the ways in
// again once. All that together takes no longer than the timeout.
func (a *Notifier) deliver(ctx context.Context, d delivery) notifier.Result {
	ctx, cancel := context.WithTimeout(ctx, a.config.Timeout)
	defer func() { notifier.Cleanup(ctx, cancel) }()
	var done [withThisTokenOnly + 1]bool
	for {
		signed, err := a.signer.current(a.config.Now())
		if err != nil {
			return notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: err}
		}
		var used *lane
		request, err := a.request(context.WithValue(ctx, laneKey{}, &used), d, signed)
		if err != nil {
			return permanent(notifier.ReasonRejected, err)
		}
		next := never
		result := a.client.Send(request.Context(), request, func(answer exchange.Answer) (r notifier.Result) {
			r, next = judge(answer, d.changed, a.config.Now())
			return r
		})
		repeat := !done[next] && a.prepare(next, signed, used)
		done[next] = true
		if !repeat {
			return result
		}
	}
}

// prepare makes the next attempt differ from the last, and reports whether it does.
func (a *Notifier) prepare(next again, refused token, used *lane) bool {
	switch next {
	case withNewToken:
		_, renewed := a.signer.renew(refused, a.config.Now())
		return renewed
	case onNewConnection:
		a.pool.retire(used)
		return true
	case onNewConnections:
		a.pool.retire(nil)
		return true
	case withThisTokenOnly:
		a.signer.hold(a.config.Now())
		return false
	case never:
	}
	return false
}

func (a *Notifier) request(ctx context.Context, d delivery, signed token) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.endpoint+"/3/device/"+d.deviceToken, bytes.NewReader(d.payload))
	if err != nil {
		return nil, errors.New("the request of a push can't be made") // err repeats the URL
	}
	header := request.Header
	header.Set("Authorization", "bearer "+signed.text)
	header.Set("Content-Type", "application/json")
	header.Set("Apns-Topic", d.topic)
	header.Set("Apns-Push-Type", d.pushType)
	header.Set("Apns-Id", d.id)
	header.Set("Apns-Priority", strconv.Itoa(d.priority))
	header.Set("User-Agent", "sendlimit")
	if d.expiration != "" {
		header.Set("Apns-Expiration", d.expiration)
	}
	if d.collapseID != "" {
		header.Set("Apns-Collapse-Id", d.collapseID)
	}
	return request, nil
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
