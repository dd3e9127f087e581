package notifiertest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Push is a push that a browser of a PushService received.
type Push struct {
	Browser       string // its address, as Subscribe or Relay returned it
	Payload       []byte // decrypted, without padding
	Length        int    // of the body, in bytes
	TTL           int    // seconds
	Urgency       string
	Topic         string
	Authorization string
}

// PushService is a push service of browsers and the browsers too, on a free loopback port, with
// HTTP/2 over TLS. It is as strict as real ones: it verifies the VAPID token, the headers and their
// bounds, and decrypts the body. Create one with NewPushService, and Close it.
type PushService struct {
	server *httptest.Server
	now    func() time.Time
	pushes *journal[Push]

	mu       sync.Mutex
	browsers map[string]*browser // by path
	answer   func() Answer
}

// browser is a subscription.
type browser struct {
	address string
	server  string // the VAPID key that it was made with
	private *ecdh.PrivateKey
	auth    []byte
	relay   func(body []byte) // passes pushes to a real browser, which has the keys; or nil
}

// NewPushService starts a PushService that gets times from now.
func NewPushService(now func() time.Time) *PushService {
	s := &PushService{now: now, pushes: newJournal[Push](), browsers: make(map[string]*browser)}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	return s
}

// Close stops the server.
func (s *PushService) Close() { s.server.Close() }

// Roots returns a pool that trusts the service's certificate.
func (s *PushService) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(s.server.Certificate())
	return roots
}

// Root returns the certificate that the service has, which is its own authority.
func (s *PushService) Root() *x509.Certificate { return s.server.Certificate() }

// Host returns the host of its endpoints, without the port.
func (s *PushService) Host() string { return "127.0.0.1" }

// AnswerWith calls answer for every push that is sound. Nil answers 201, and hands the push to
// the browser; so does an answer with a status below 300.
func (s *PushService) AnswerWith(answer func() Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Subscribe returns the address of a new browser, which accepts pushes signed with the key of
// this public VAPID key.
func (s *PushService) Subscribe(publicKey string) (address string, err error) {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return "", fmt.Errorf("generate the key of a browser: %w", err)
	}
	b := &browser{server: publicKey, private: private, auth: make([]byte, 16)}
	_, _ = rand.Read(b.auth)
	path := "/push/" + rand.Text()
	text, err := json.Marshal(map[string]any{
		"endpoint": s.server.URL + path, "expirationTime": nil,
		"keys": map[string]string{
			"p256dh": base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes()),
			"auth":   base64.RawURLEncoding.EncodeToString(b.auth),
		},
	})
	if err != nil {
		return "", fmt.Errorf("encode a subscription: %w", err)
	}
	b.address = string(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[path] = b
	return b.address, nil
}

// Relay returns the endpoint of a browser outside of the service, which accepts pushes signed
// with the key of this public VAPID key. The service checks them, and passes their encrypted
// bodies to relay. In Pushes they have no payload, and the endpoint as their Browser.
func (s *PushService) Relay(publicKey string, relay func(body []byte)) (endpoint string) {
	path := "/push/" + rand.Text()
	endpoint = s.server.URL + path
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[path] = &browser{address: endpoint, server: publicKey, relay: relay}
	return endpoint
}

// Unsubscribe makes the service answer 410 to pushes to a browser: to the address that
// Subscribe returned, or the endpoint that Relay did.
func (s *PushService) Unsubscribe(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.browsers, func(_ string, b *browser) bool { return b.address == address })
}

// Pushes returns the pushes that the browsers received so far, in their order.
func (s *PushService) Pushes() []Push { return s.pushes.all() }

// Wait returns the pushes so far once there are at least n. The error is ctx's, with the number
// that came.
func (s *PushService) Wait(ctx context.Context, n int) ([]Push, error) { return s.pushes.wait(ctx, n) }

func (s *PushService) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender hung up
	}
	s.mu.Lock()
	b, answer := s.browsers[r.URL.Path], s.answer
	s.mu.Unlock()
	if b == nil {
		refuse(w, http.StatusGone, "Unregistered")
		return
	}
	if err := s.authorized(r, b); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	push, err := b.read(r, body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	given := Answer{Status: http.StatusCreated}
	if answer != nil {
		given = answer()
	}
	maps.Copy(w.Header(), given.Header)
	if given.Status < http.StatusMultipleChoices {
		if b.relay != nil {
			b.relay(body)
		}
		s.pushes.add(push)
		w.Header().Set("Location", "https://"+r.Host+"/receipt/"+strconv.Itoa(len(s.pushes.all())))
	}
	w.WriteHeader(given.Status)
	_, _ = io.WriteString(w, given.Body) // a sender that hung up needs none
}

func refuse(w http.ResponseWriter, status int, reason string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"reason": reason}) // a sender that hung up needs none
}

// authorized verifies a VAPID token as RFC 8292 says.
func (s *PushService) authorized(r *http.Request, b *browser) error {
	parameters, ok := strings.CutPrefix(r.Header.Get("Authorization"), "vapid t=")
	text, key, found := strings.Cut(parameters, ", k=")
	if !ok || !found {
		return errors.New("BadAuthorizationHeader")
	}
	if key != b.server {
		return errors.New("VapidPkHashMismatch")
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return errors.New("BadVapidPublicKey")
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return errors.New("BadVapidPublicKey")
	}
	claims := jwt.RegisteredClaims{}
	_, err = jwt.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return public, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(s.server.URL), jwt.WithExpirationRequired(), jwt.WithTimeFunc(s.now))
	about := strings.HasPrefix(claims.Subject, "mailto:") || strings.HasPrefix(claims.Subject, "https://")
	if err != nil || !about || claims.ExpiresAt.After(s.now().Add(24*time.Hour)) {
		return errors.New("BadJwtToken")
	}
	return nil
}

// read checks a push's headers and decrypts its body.
func (b *browser) read(r *http.Request, body []byte) (Push, error) {
	p := Push{
		Browser: b.address, Length: len(body), Urgency: r.Header.Get("Urgency"), Topic: r.Header.Get("Topic"),
		Authorization: r.Header.Get("Authorization"),
	}
	var err error
	p.TTL, err = strconv.Atoi(r.Header.Get("TTL"))
	switch {
	case r.Method != http.MethodPost || len(body) > 4096 || r.Header.Get("Content-Encoding") != "aes128gcm":
		return p, errors.New("BadWebPushRequest")
	case err != nil || p.TTL < 0 || p.TTL > 2_419_200:
		return p, errors.New("BadTtl")
	case p.Urgency != "very-low" && p.Urgency != "low" && p.Urgency != "normal" && p.Urgency != "high":
		return p, errors.New("BadUrgency")
	}
	if topic, err := base64.RawURLEncoding.DecodeString(p.Topic); err != nil || len(p.Topic) != 32 && len(p.Topic) != 24 || len(topic) == 0 {
		return p, errors.New("BadWebPushTopic")
	}
	if b.relay != nil {
		return p, nil
	}
	p.Payload, err = b.decrypt(body)
	if err != nil {
		return p, errors.New("BadWebPushRequest")
	}
	return p, nil
}

// decrypt decrypts a body of one record like a browser, see RFC 8291 and RFC 8188.
func (b *browser) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 || int(binary.BigEndian.Uint32(body[16:])) < len(body)-86 {
		return nil, errors.New("the header is malformed")
	}
	salt, sender, record := body[:16], body[21:86], body[86:]
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, fmt.Errorf("read the sender's key: %w", err)
	}
	shared, err := b.private.ECDH(public)
	if err != nil {
		return nil, fmt.Errorf("agree on a key: %w", err)
	}
	info := "WebPush: info\x00" + string(b.private.PublicKey().Bytes()) + string(sender)
	secret, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	key, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	nonce, err := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, fmt.Errorf("derive a nonce: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	plain, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	plain = []byte(strings.TrimRight(string(plain), "\x00"))
	if len(plain) == 0 || plain[len(plain)-1] != 2 {
		return nil, errors.New("the record does not end the message")
	}
	return plain[:len(plain)-1], nil
}
