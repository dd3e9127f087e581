package notifiertest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	fcmProject = "shop-1234"
	fcmEmail   = "push@shop-1234.iam.gserviceaccount.com"
	fcmScope   = "https://www.googleapis.com/auth/firebase.messaging"
	fcmKeyID   = "0123456789abcdef"
)

// FCMMessage is a message that an FCMServer was sent.
type FCMMessage struct {
	Target       string          // the token, or "topic " and the topic
	Message      json.RawMessage // with its target
	ValidateOnly bool
	Bearer       string
	Protocol     string // "HTTP/2.0"
}

// FCMServer is the API of Firebase Cloud Messaging with its token endpoint, on a free loopback
// port, with HTTP/2 over TLS. It is as strict as the real one: it verifies the signed request for a
// token, and the token of each message. Create one with NewFCMServer, and Close it.
type FCMServer struct {
	server   *httptest.Server
	now      func() time.Time
	key      *rsa.PrivateKey
	messages *journal[FCMMessage]
	closed   chan struct{}
	close    sync.Once

	mu        sync.Mutex
	life      time.Duration
	exchanges int
	open      int // connections
	maxOpen   int
	issued    map[string]time.Time // tokens, and when they end
	answer    func(FCMMessage) Answer
	token     func() Answer
}

// NewFCMServer starts an FCMServer that gets times from now. Its tokens live for an hour.
func NewFCMServer(now func() time.Time) (*FCMServer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("generate the key of a service account: %w", err)
	}
	s := &FCMServer{
		now: now, key: key, messages: newJournal[FCMMessage](), closed: make(chan struct{}),
		life: time.Hour, issued: make(map[string]time.Time),
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /token", s.serveToken)
	routes.HandleFunc("POST /v1/projects/{project}/{send}", s.serveMessage)
	s.server = httptest.NewUnstartedServer(routes)
	s.server.EnableHTTP2 = true
	s.server.Config.ConnState = s.count
	s.server.StartTLS()
	return s, nil
}

// Close stops the server. Delayed requests get no answer.
func (s *FCMServer) Close() {
	s.close.Do(func() {
		close(s.closed)
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

// URL returns the endpoint.
func (s *FCMServer) URL() string { return s.server.URL }

// Roots returns a pool that trusts the server's certificate.
func (s *FCMServer) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(s.server.Certificate())
	return roots
}

// Credentials returns the JSON of the key of its service account.
func (s *FCMServer) Credentials() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of a service account: %w", err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": fcmProject, "client_email": fcmEmail, "private_key_id": fcmKeyID,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"token_uri":   s.server.URL + "/token",
	})
	if err != nil {
		return nil, fmt.Errorf("encode a service account: %w", err)
	}
	return text, nil
}

// TokensLive sets how long tokens live that are issued from now on.
func (s *FCMServer) TokensLive(life time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
}

// Revoke ends all tokens that were issued.
func (s *FCMServer) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.issued)
}

// Exchanges returns how many requests for a token came.
func (s *FCMServer) Exchanges() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchanges
}

// MaxConnections returns how many connections were open at the same time, at most.
func (s *FCMServer) MaxConnections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxOpen
}

func (s *FCMServer) count(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open++
		s.maxOpen = max(s.maxOpen, s.open)
	case http.StateClosed, http.StateHijacked:
		s.open--
	default:
	}
}

// AnswerWith calls answer for every message that is sound and has a valid token, concurrently.
// Nil, and a zero Answer, accept it. A header Connection: close has the server send a GOAWAY,
// and a panic with http.ErrAbortHandler resets the stream.
func (s *FCMServer) AnswerWith(answer func(FCMMessage) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// AnswerTokensWith calls answer for every sound request for a token, concurrently. Nil, and a
// zero Answer, issue one.
func (s *FCMServer) AnswerTokensWith(answer func() Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = answer
}

// Messages returns the messages with a valid token so far, whatever was answered, in the order
// they came.
func (s *FCMServer) Messages() []FCMMessage { return s.messages.all() }

// Wait returns the messages so far once there are at least n. The error is ctx's, with the
// number that came.
func (s *FCMServer) Wait(ctx context.Context, n int) ([]FCMMessage, error) {
	return s.messages.wait(ctx, n)
}

func (s *FCMServer) serveMessage(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender hung up
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	ends, ok := s.issued[bearer]
	answer := s.answer
	s.mu.Unlock()
	if !ok || !s.now().Before(ends) {
		refuseFCM(w, http.StatusUnauthorized, "UNAUTHENTICATED")
		return
	}
	if r.PathValue("project") != fcmProject || r.PathValue("send") != "messages:send" {
		refuseFCM(w, http.StatusNotFound, "NOT_FOUND")
		return
	}
	m, err := readFCM(body)
	if err != nil {
		refuseFCM(w, http.StatusBadRequest, "INVALID_ARGUMENT")
		return
	}
	m.Bearer, m.Protocol = bearer, r.Proto
	s.messages.add(m)
	if answer != nil && s.scripted(w, r, answer(m)) {
		return
	}
	respond(w, http.StatusOK, map[string]string{"name": "projects/" + fcmProject + "/messages/" + strconv.Itoa(len(s.messages.all()))})
}

// readFCM reads a request to send, which has the members that FCM knows and one target.
func readFCM(body []byte) (FCMMessage, error) {
	var request struct {
		ValidateOnly bool                       `json:"validate_only"`
		Message      map[string]json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return FCMMessage{}, fmt.Errorf("read a message: %w", err)
	}
	m := FCMMessage{ValidateOnly: request.ValidateOnly}
	targets := 0
	for name, value := range request.Message {
		switch name {
		case "token", "topic":
			var target string
			if err := json.Unmarshal(value, &target); err != nil || target == "" {
				return FCMMessage{}, errors.New("the target is no text")
			}
			if m.Target = target; name == "topic" {
				m.Target = "topic " + target
			}
			targets++
		case "data", "notification", "android", "apns", "webpush", "fcm_options":
		default:
			return FCMMessage{}, fmt.Errorf("unknown member %q", name)
		}
	}
	if targets != 1 {
		return FCMMessage{}, fmt.Errorf("%d targets", targets)
	}
	text, err := json.Marshal(request.Message)
	if err != nil {
		return FCMMessage{}, fmt.Errorf("repeat a message: %w", err)
	}
	m.Message = text
	return m, nil
}

// scripted gives an answer that is not zero.
func (s *FCMServer) scripted(w http.ResponseWriter, r *http.Request, a Answer) bool {
	if a.Status == 0 && a.Delay == 0 {
		return false
	}
	if a.Delay > 0 {
		timer := time.NewTimer(a.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		case <-s.closed:
			panic(http.ErrAbortHandler)
		}
	}
	if a.Status == 0 {
		return false
	}
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body) // a sender that hung up needs none
	return true
}

func refuseFCM(w http.ResponseWriter, code int, status string) {
	respond(w, code, map[string]any{"error": map[string]any{"code": code, "status": status, "message": "refused"}})
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a sender that hung up needs none
}
