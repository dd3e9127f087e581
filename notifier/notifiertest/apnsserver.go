package notifiertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// The developer account that an APNsServer knows.
const (
	APNsKeyID  = "ABC123DEFG"
	APNsTeamID = "DEF123GHIJ"
	APNsTopic  = "com.example.shop"
)

// APNsPush is a push that an APNsServer accepted.
type APNsPush struct {
	Device  string
	Header  http.Header // with canonical names: "Apns-Topic"
	Payload []byte
	Conn    int // the number of its connection, from 1
}

// APNsAnswer is an APNsServer's answer to one push.
type APNsAnswer struct {
	Status int    // zero or 200 accepts the push
	Reason string // of a refusal: "TooManyRequests"
	Since  int64  // the member timestamp, in milliseconds; zero for none
	Header http.Header
	Body   string // in place of the JSON of Reason and Since
	Delay  time.Duration
	Fault  APNsFault
}

// APNsFault is a failure besides the answer.
type APNsFault uint8

// The failures. With the first two, the push is not processed. With the next three, it is processed
// as the answer says, but the answer is lost. The zero APNsFault is none.
const (
	APNsRefuse  APNsFault = iota + 1 // the stream is refused
	APNsGoAway                       // a GOAWAY names a lower stream; those up to it are answered
	APNsReset                        // the stream is reset in place of an answer
	APNsHangUp                       // the connection ends in place of an answer
	APNsSilence                      // nothing comes over the connection any more
	APNsGoodbye                      // a GOAWAY that names this stream comes with the answer
)

// APNsServer is an APNs server on a free loopback port, with HTTP/2 over TLS. It is as strict as the
// real one: it verifies the provider token, its age and how often it changes, and the headers and
// their bounds. Create one with NewAPNsServer, and Close it.
type APNsServer struct {
	listener net.Listener
	tls      *tls.Config
	root     *x509.Certificate
	key      *ecdsa.PrivateKey
	now      func() time.Time
	streams  uint32
	pushes   *journal[APNsPush]
	running  sync.WaitGroup

	mu     sync.Mutex
	open   map[*apnsConn]bool
	opened int
	excess int
	tokens providerTokens
	gone   map[string]int64
	script []APNsAnswer
	answer func() APNsAnswer
}

// NewAPNsServer starts an APNsServer that gets times from now, and allows so many streams at a
// time on a connection: one until it has seen a sound provider token.
func NewAPNsServer(now func() time.Time, streams uint32) (*APNsServer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the signing key: %w", err)
	}
	certificate, root, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &APNsServer{
		root: root, key: key, now: now, streams: max(streams, 1), pushes: newJournal[APNsPush](),
		open: make(map[*apnsConn]bool), gone: make(map[string]int64),
	}
	s.tokens = providerTokens{public: &key.PublicKey, now: now}
	s.listener = listener
	s.tls = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	s.running.Go(s.accept)
	return s, nil
}

// selfSigned returns a certificate for 127.0.0.1.
func selfSigned() (tls.Certificate, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("generate the key of a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("sign a certificate: %w", err)
	}
	root, err := x509.ParseCertificate(signed)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("read a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, root, nil
}

// Close stops the server and its connections.
func (s *APNsServer) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.open {
		_ = c.net.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// URL returns the server's address.
func (s *APNsServer) URL() string { return "https://" + s.listener.Addr().String() }

// Roots returns a pool that trusts the server's certificate.
func (s *APNsServer) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(s.root)
	return roots
}

// Key returns the signing key that the server accepts, as a .p8 file.
func (s *APNsServer) Key() ([]byte, error) {
	text, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		return nil, fmt.Errorf("encode the signing key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), nil
}

// Script adds answers for the next pushes, in the order they arrive. They come after those
// already scripted and before AnswerWith. A push that is not sound uses up its answer.
func (s *APNsServer) Script(answers ...APNsAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Scripted returns how many scripted answers are left.
func (s *APNsServer) Scripted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// AnswerWith calls answer for every push without a scripted answer. Nil accepts all.
func (s *APNsServer) AnswerWith(answer func() APNsAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Unregister makes the server answer 410 to pushes to a device, since a time.
func (s *APNsServer) Unregister(device string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[device] = since.UnixMilli()
}

// Pushes returns the pushes that were accepted so far, in the order they came.
func (s *APNsServer) Pushes() []APNsPush { return s.pushes.all() }

// Wait returns the pushes so far once there are at least n. The error is ctx's, with the number
// that came.
func (s *APNsServer) Wait(ctx context.Context, n int) ([]APNsPush, error) {
	return s.pushes.wait(ctx, n)
}

// Connections returns how many connections were made, and how many are open.
func (s *APNsServer) Connections() (made, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, len(s.open)
}

// Excess returns how many streams were refused because a connection had too many.
func (s *APNsServer) Excess() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.excess
}

func (s *APNsServer) accept() {
	for {
		accepted, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.opened++
		c := newAPNsConn(s, tls.Server(accepted, s.tls), s.opened)
		s.open[c] = true
		s.mu.Unlock()
		s.running.Go(func() {
			c.serve()
			s.mu.Lock()
			delete(s.open, c)
			s.mu.Unlock()
		})
	}
}

// next returns the answer to a push after its headers.
func (s *APNsServer) next() APNsAnswer {
	s.mu.Lock()
	if len(s.script) > 0 {
		defer s.mu.Unlock()
		answer := s.script[0]
		s.script = s.script[1:]
		return answer
	}
	answer := s.answer
	s.mu.Unlock()
	if answer == nil {
		return APNsAnswer{}
	}
	return answer()
}

// judge returns the answer to a push that has come completely: given, if it is sound.
func (s *APNsServer) judge(method, path string, p *APNsPush, given APNsAnswer) APNsAnswer {
	refuse := func(status int, reason string) APNsAnswer {
		return APNsAnswer{Status: status, Reason: reason, Delay: given.Delay, Fault: given.Fault}
	}
	device, ok := strings.CutPrefix(path, "/3/device/")
	p.Device = device
	switch {
	case method != http.MethodPost:
		return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed")
	case !ok:
		return refuse(http.StatusNotFound, "BadPath")
	}
	s.mu.Lock()
	status, reason := s.tokens.verify(p.Header.Get("Authorization"))
	since := s.gone[device]
	s.mu.Unlock()
	if reason != "" {
		return refuse(status, reason)
	}
	if status, reason := unsound(*p); reason != "" {
		return refuse(status, reason)
	}
	if since != 0 {
		gone := refuse(http.StatusGone, "Unregistered")
		gone.Since = since
		return gone
	}
	if given.Status == 0 {
		given.Status = http.StatusOK
	}
	return given
}

// accepted notes a push.
func (s *APNsServer) accepted(p APNsPush) { s.pushes.add(p) }

// body returns the body of an answer.
func (a APNsAnswer) body() []byte {
	if a.Body != "" || a.Reason == "" {
		return []byte(a.Body)
	}
	said := map[string]any{"reason": a.Reason}
	if a.Since != 0 {
		said["timestamp"] = a.Since
	}
	text, err := json.Marshal(said)
	if err != nil {
		return nil // a text and a number can always be encoded
	}
	return text
}

// NewAPNsDevice returns the device token of a new device.
func NewAPNsDevice() string {
	return strings.ReplaceAll(uuid.NewString()+uuid.NewString(), "-", "")
}
