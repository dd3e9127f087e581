package main

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	peer "github.com/SherClockHolmes/webpush-go"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// pushSlices is how often each side of a channel's row pushes.
const pushSlices = 6

// measureChannels compares the pushes a second of each channel with those of a bare loop. It is
// one of net/http, which sends the bytes of the channel's first request again and again; for
// Web Push, which encrypts each push, it is one of a library. The provider is the same for
// both: a server on loopback that takes everything at once. The slices alternate.
func measureChannels(ctx context.Context, size sizes) ([]row, error) {
	var rows, workers []row
	for _, channel := range []struct {
		name   string
		beside string
		open   func(*sink) (opened, error)
	}{
		{notifier.ChannelFCM, "net/http", openFCM},
		{notifier.ChannelAPNs, "net/http", openAPNs},
		{notifier.ChannelWebPush, "webpush-go", openWebPush},
		{notifier.ChannelWebhook, "net/http", openWebhook},
	} {
		s := newSink()
		ours, bare, worker, err := s.compare(ctx, size, channel.name, channel.open)
		s.server.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", channel.name, err)
		}
		workers = append(workers, state("worker-"+channel.name, "pushes a second of one worker over "+channel.name+", from the schedule / of the same bare loop",
			fmt.Sprintf("%.2f ×", worker/median(bare)), fmt.Sprintf("worker %.0f/s", worker), fmt.Sprintf("%d messages, a user each", size.deliveries)))
		rows = append(rows, atLeast("push-"+channel.name, "pushes a second of the channel "+channel.name+" / of a bare loop of "+channel.beside,
			median(ours)/median(bare), 0.7, fmt.Sprintf("channel %.0f/s", median(ours)), fmt.Sprintf("bare %.0f/s", median(bare)),
			fmt.Sprintf("%d slices of %d pushes, %d at a time", pushSlices, size.submits, callers)))
	}
	return append(rows, workers...), nil
}

// compare returns the pushes a second of a channel and of its bare loop, by slice, and those of
// a worker.
func (s *sink) compare(ctx context.Context, size sizes, name string, open func(*sink) (opened, error)) (ours, bare []float64, worker float64, err error) {
	channel, err := open(s)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { err = errors.Join(err, channel.close()) }()
	now := time.Now()
	push := func(ctx context.Context, i int) error {
		r := channel.Notify(ctx, notifier.Notification{
			User: userName(i), ID: "m", IdempotencyKey: notifier.IdempotencyKey("", userName(i), "m"), Device: channel.device,
			Title: title, Body: body, SendAt: now, ExpiresAt: now.Add(time.Hour), Attempt: 1,
		})
		if r.Status != notifier.Delivered {
			return fmt.Errorf("a push ended as %s: %s: %w", r.Status, r.Reason, r.Err)
		}
		return nil
	}
	if err := push(ctx, 0); err != nil {
		return nil, nil, 0, err
	}
	client := s.client()
	defer client.CloseIdleConnections()
	loop := s.repeat(client)
	if channel.bare != nil {
		loop = channel.bare(client)
	}
	for range pushSlices {
		for _, side := range []struct {
			rates *[]float64
			do    operation
		}{{&ours, push}, {&bare, loop}} {
			took, err := drive(ctx, size.submits, side.do)
			if err != nil {
				return nil, nil, 0, err
			}
			*side.rates = append(*side.rates, float64(size.submits)/took.Seconds())
		}
	}
	worker, err = workerPushes(ctx, size.deliveries, name, channel)
	return ours, bare, worker, err
}

// sink is a provider that takes all requests, over HTTP/2 and TLS, and keeps the first one.
type sink struct {
	server *httptest.Server
	once   sync.Once
	path   string
	header http.Header
	body   []byte
}

func newSink() *sink {
	s := &sink{}
	s.server = httptest.NewUnstartedServer(s)
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	return s
}

func (s *sink) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.server.Certificate())
	return pool
}

// ServeHTTP implements http.Handler.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	read, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.once.Do(func() { s.path, s.header, s.body = r.URL.RequestURI(), r.Header.Clone(), read })
	switch {
	case strings.HasPrefix(r.URL.Path, "/push/"): // what a push service answers
		w.Header().Set("Location", "/message/1")
		w.WriteHeader(http.StatusCreated)
	default:
		_, _ = io.WriteString(w, `{"name": "projects/shop-1234/messages/1"}`)
	}
}

// client returns a client of the bare loop.
func (s *sink) client() *http.Client {
	transport := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: callers}
	if s.server.Certificate() != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: s.roots(), MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}
}

// repeat returns a bare loop's operation, which sends the first request again.
func (s *sink) repeat(client *http.Client) operation {
	return func(ctx context.Context, _ int) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.URL+s.path, bytes.NewReader(s.body))
		if err != nil {
			return fmt.Errorf("a bare request: %w", err)
		}
		request.Header = s.header.Clone()
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("a bare push: %w", err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		return errors.Join(err, response.Body.Close())
	}
}

// opened is a channel that is open.
type opened struct {
	notifier.Notifier

	device *notifier.Device // nil for a channel without devices
	close  func() error
	// bare returns the other side's operation; nil for one that sends the channel's first
	// request again.
	bare func(*http.Client) operation
}

func openFCM(s *sink) (opened, error) {
	tokens, err := notifiertest.NewFCMServer(time.Now)
	if err != nil {
		return opened{}, fmt.Errorf("a server of tokens: %w", err)
	}
	credentials, err := tokens.Credentials()
	if err != nil {
		tokens.Close()
		return opened{}, fmt.Errorf("credentials: %w", err)
	}
	roots := tokens.Roots()
	roots.AddCert(s.server.Certificate())
	f, err := fcm.New(fcm.Config{Credentials: credentials, Endpoint: s.server.URL, RootCAs: roots, Now: time.Now})
	if err != nil {
		tokens.Close()
		return opened{}, fmt.Errorf("fcm: %w", err)
	}
	phone := &notifier.Device{ID: "d", Channel: notifier.ChannelFCM, Address: newToken()}
	return opened{Notifier: f, device: phone, close: func() error {
		defer tokens.Close()
		return f.Close()
	}}, nil
}

func openAPNs(s *sink) (opened, error) {
	keys, err := notifiertest.NewAPNsServer(time.Now, 1)
	if err != nil {
		return opened{}, fmt.Errorf("a server with a key: %w", err)
	}
	defer keys.Close()
	key, err := keys.Key()
	if err != nil {
		return opened{}, fmt.Errorf("the key of a server: %w", err)
	}
	a, err := apns.New(apns.Config{
		Key: key, KeyID: notifiertest.APNsKeyID, TeamID: notifiertest.APNsTeamID, Topic: notifiertest.APNsTopic,
		Endpoint: s.server.URL, RootCAs: s.roots(), Now: time.Now,
	})
	if err != nil {
		return opened{}, fmt.Errorf("apns: %w", err)
	}
	phone := &notifier.Device{ID: "d", Channel: notifier.ChannelAPNs, Address: notifiertest.NewAPNsDevice()}
	return opened{Notifier: a, device: phone, close: a.Close}, nil
}

func openWebPush(s *sink) (opened, error) {
	keys, err := webpush.GenerateKeys()
	if err != nil {
		return opened{}, fmt.Errorf("keys: %w", err)
	}
	w, err := webpush.New(webpush.Config{
		PrivateKey: keys.Private, Subject: "ops@example.com", Hosts: []string{"127.0.0.1"}, AllowInternal: true, RootCAs: s.roots(), Now: time.Now,
	})
	if err != nil {
		return opened{}, fmt.Errorf("webpush: %w", err)
	}
	browser, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return opened{}, errors.Join(err, w.Close())
	}
	subscription := &peer.Subscription{Endpoint: s.server.URL + "/push/1", Keys: peer.Keys{
		P256dh: base64.RawURLEncoding.EncodeToString(browser.PublicKey().Bytes()),
		Auth:   base64.RawURLEncoding.EncodeToString(make([]byte, 16)),
	}}
	address, err := json.Marshal(subscription)
	if err != nil {
		return opened{}, errors.Join(err, w.Close())
	}
	// What repeats a request would not encrypt.
	bare := func(client *http.Client) operation {
		options := &peer.Options{
			HTTPClient: client, Subscriber: "ops@example.com", TTL: 3600, VAPIDPublicKey: keys.Public, VAPIDPrivateKey: keys.Private,
		}
		text := []byte(`{"title":"` + title + `","body":"` + body + `"}`)
		return func(ctx context.Context, _ int) error {
			response, err := peer.SendNotificationWithContext(ctx, text, subscription, options)
			if err != nil {
				return fmt.Errorf("a bare push: %w", err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			return errors.Join(err, response.Body.Close())
		}
	}
	device := &notifier.Device{ID: "d", Channel: notifier.ChannelWebPush, Address: string(address)}
	return opened{Notifier: w, device: device, close: w.Close, bare: bare}, nil
}

func openWebhook(s *sink) (opened, error) {
	s.server.Close()
	s.server = httptest.NewServer(s) // receivers are mostly in the same network, without TLS
	w, err := webhook.New(webhook.Config{URL: s.server.URL + "/", Secret: webhookSecret, Now: time.Now})
	if err != nil {
		return opened{}, fmt.Errorf("webhook: %w", err)
	}
	return opened{Notifier: w, close: w.Close}, nil
}

// webhookSecret signs the pushes to a receiver that does not verify them.
const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
