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
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	fcmProject = "demo-project"
	fcmEmail   = "push@demo-project.iam.gserviceaccount.com"
	fcmKeyID   = "key-1"
	fcmScope   = "https://www.googleapis.com/auth/firebase.messaging"
	// fcmTokenLife is how long a bearer token is valid.
	fcmTokenLife = time.Hour
)

// fcmKey makes the key of the service account: one for all servers, since it takes a while.
var fcmKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { //nolint:gochecknoglobals // all servers of a process share it
	return rsa.GenerateKey(rand.Reader, 2048)
})

// FCMMessage is what an FCMServer got.
type FCMMessage struct {
	Token        string         // "" if the target is a topic
	Message      map[string]any // all of it
	ValidateOnly bool
}

// FCMServer is Firebase Cloud Messaging with its token server, on a free loopback port, with
// HTTP/2 over TLS. It verifies the signed request for a token, and the bearer token and its
// age. Make one with NewFCMServer, and Close it.
type FCMServer struct {
	server *httptest.Server
	now    func() time.Time
	key    *rsa.PrivateKey
	got    *journal[FCMMessage]

	mu      sync.Mutex
	conns   int
	bearers map[string]time.Time // until when each is valid
	made    int
	answer  func(FCMMessage) Answer
	grant   func() Answer
}

// NewFCMServer starts a server that gets times from now.
func NewFCMServer(now func() time.Time) (*FCMServer, error) {
	key, err := fcmKey()
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	s := &FCMServer{now: now, key: key, got: newJournal[FCMMessage](), bearers: make(map[string]time.Time)}
	handler := http.NewServeMux()
	handler.HandleFunc("POST /token", s.serveToken)
	handler.HandleFunc("POST /v1/projects/"+fcmProject+"/messages:send", s.serveMessage)
	s.server = httptest.NewUnstartedServer(handler)
	s.server.EnableHTTP2 = true
	s.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
		}
	}
	s.server.StartTLS()
	return s, nil
}

// Close stops the server.
func (s *FCMServer) Close() { s.server.Close() }

// URL returns the server's endpoint.
func (s *FCMServer) URL() string { return s.server.URL }

// Roots returns what trusts the server's certificate.
func (s *FCMServer) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(s.server.Certificate())
	return roots
}

// Certificate returns the server's certificate in PEM.
func (s *FCMServer) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
}

// Credentials returns the JSON of the service account that the server knows.
func (s *FCMServer) Credentials() ([]byte, error) { return s.credentialsOf(fcmProject, s.key) }

// CredentialsOf returns the JSON of the service account for another project.
func (s *FCMServer) CredentialsOf(project string) ([]byte, error) {
	return s.credentialsOf(project, s.key)
}

// WrongCredentials returns the JSON of a service account whose key the server does not know.
func (s *FCMServer) WrongCredentials() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return s.credentialsOf(fcmProject, key)
}

func (s *FCMServer) credentialsOf(project string, key *rsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": project, "private_key_id": fcmKeyID, "client_email": fcmEmail,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": s.server.URL + "/token",
	})
	if err != nil {
		return nil, fmt.Errorf("encode a service account: %w", err)
	}
	return text, nil
}

// AnswerWith calls answer for every message that is sound. Nil answers 200; an answer with the
// status 200 and no body gets one.
func (s *FCMServer) AnswerWith(answer func(FCMMessage) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// GrantWith calls grant for every request for a token. Nil grants those that are signed.
func (s *FCMServer) GrantWith(grant func() Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant = grant
}

// Revoke makes the server refuse all bearer tokens that it has made.
func (s *FCMServer) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.bearers)
}

// Tokens returns how many bearer tokens the server has made.
func (s *FCMServer) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// Connections returns how many connections were made.
func (s *FCMServer) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Messages returns what was accepted so far, in the order it came.
func (s *FCMServer) Messages() []FCMMessage { return s.got.all() }

// Wait returns the messages so far once there are at least n. The error is ctx's, with the
// number that came.
func (s *FCMServer) Wait(ctx context.Context, n int) ([]FCMMessage, error) { return s.got.wait(ctx, n) }

func (s *FCMServer) serveToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	grant := s.grant
	s.mu.Unlock()
	if grant != nil {
		write(w, grant())
		return
	}
	if err := s.signed(r); err != nil {
		write(w, Answer{Status: http.StatusBadRequest, Body: `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`})
		return
	}
	bearer := rand.Text()
	s.mu.Lock()
	s.bearers[bearer] = s.now().Add(fcmTokenLife)
	s.made++
	s.mu.Unlock()
	write(w, Answer{Status: http.StatusOK, Body: fmt.Sprintf(`{"access_token":%q,"expires_in":%d,"token_type":"Bearer"}`,
		bearer, int(fcmTokenLife/time.Second))})
}

// signed verifies a request for a token, as RFC 7523 says.
func (s *FCMServer) signed(r *http.Request) error {
	if r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		return errors.New("unsupported_grant_type")
	}
	claims := jwt.MapClaims{}
	parsed, err := jwt.ParseWithClaims(r.PostFormValue("assertion"), claims, func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience(s.server.URL+"/token"), jwt.WithIssuer(fcmEmail),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(s.now))
	if err != nil {
		return fmt.Errorf("verify an assertion: %w", err)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires.After(s.now().Add(time.Hour+time.Second)) || parsed.Header["kid"] != fcmKeyID || claims["scope"] != fcmScope {
		return errors.New("invalid_grant")
	}
	return nil
}

func (s *FCMServer) serveMessage(w http.ResponseWriter, r *http.Request) {
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	until, known := s.bearers[bearer]
	answer := s.answer
	s.mu.Unlock()
	if !known || !s.now().Before(until) {
		write(w, Answer{Status: http.StatusUnauthorized, Body: `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"Request had invalid authentication credentials."}}`})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender hung up
	}
	var envelope struct {
		Message      map[string]any `json:"message"`
		ValidateOnly bool           `json:"validate_only"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Message == nil {
		write(w, Answer{Status: http.StatusBadRequest, Body: `{"error":{"code":400,"status":"INVALID_ARGUMENT"}}`})
		return
	}
	token, _ := envelope.Message["token"].(string)
	got := FCMMessage{Token: token, Message: envelope.Message, ValidateOnly: envelope.ValidateOnly}
	given := Answer{Status: http.StatusOK}
	if answer != nil {
		given = answer(got)
	}
	if given.Status == http.StatusOK {
		s.got.add(got)
		if given.Body == "" {
			given.Body = fmt.Sprintf(`{"name":"projects/%s/messages/%d"}`, fcmProject, len(s.got.all()))
		}
	}
	write(w, given)
}

func write(w http.ResponseWriter, a Answer) {
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body) // a sender that hung up needs none
}
