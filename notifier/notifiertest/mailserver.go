package notifiertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"sync"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Mail is one message that a MailServer received, whether its sender got an answer or not.
type Mail struct {
	From, To string
	Secured  bool   // by TLS
	User     string // the login; "" for none
	Data     []byte // headers and body
}

// MailStep is a step of a session at which a MailServer answers.
type MailStep string

// The steps.
const (
	MailFrom MailStep = "MAIL"
	MailTo   MailStep = "RCPT"
	MailEnd  MailStep = "END" // of the message, which is recorded before the answer
)

// MailAnswer is a MailServer's answer; the zero value accepts.
type MailAnswer struct {
	Code     int // 0 accepts
	Enhanced [3]int
	Text     string
	Cut      bool // close the connection without an answer
	Never    bool // never answer
}

// MailServerOptions configure a MailServer.
type MailServerOptions struct {
	// TLS offers STARTTLS, and ImplicitTLS begins with TLS.
	TLS, ImplicitTLS bool
	// Users are the logins with their passwords; nil means no logins. Ways are the
	// offered mechanisms, PLAIN or LOGIN; nil means both.
	Users map[string]string
	Ways  []string
}

// MailServer receives mail over SMTP on a free loopback port. Make one with NewMailServer,
// and Close it.
type MailServer struct {
	options MailServerOptions
	server  *smtp.Server
	listens net.Listener
	root    *x509.Certificate
	mails   *journal[Mail]
	closed  chan struct{}
	close   sync.Once
	served  chan struct{}

	mu     sync.Mutex
	answer func(MailStep) MailAnswer
}

// NewMailServer starts a MailServer that accepts everything.
func NewMailServer(ctx context.Context, o MailServerOptions) (*MailServer, error) {
	s := &MailServer{
		options: o, mails: newJournal[Mail](), closed: make(chan struct{}), served: make(chan struct{}),
	}
	// net/http/httptest has a certificate for 127.0.0.1.
	web := httptest.NewTLSServer(nil)
	certificates := web.TLS.Certificates
	s.root = web.Certificate()
	web.Close()

	s.server = smtp.NewServer(smtp.BackendFunc(s.session))
	s.server.Domain = "mail.example.com"
	s.server.AllowInsecureAuth = true
	s.server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	secured := &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
	if o.TLS {
		s.server.TLSConfig = secured
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for mail: %w", err)
	}
	if o.ImplicitTLS {
		listener = tls.NewListener(listener, secured)
	}
	s.listens = listener
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // it always returns an error
	}()
	return s, nil
}

// Address returns where the server listens: "127.0.0.1:40123".
func (s *MailServer) Address() string { return s.listens.Addr().String() }

// Root returns the authority of the server's certificate.
func (s *MailServer) Root() *x509.Certificate { return s.root }

// Close stops the server. Open requests get no answer.
func (s *MailServer) Close() {
	s.close.Do(func() {
		close(s.closed)
		_ = s.server.Close()
		_ = s.listens.Close() // the server may not have it yet
		<-s.served
	})
}

// AnswerWith calls answer at every step of every session, concurrently. Nil accepts.
func (s *MailServer) AnswerWith(answer func(MailStep) MailAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Mails returns the messages so far, in the order they came.
func (s *MailServer) Mails() []Mail { return s.mails.all() }

func (s *MailServer) session(c *smtp.Conn) (smtp.Session, error) {
	return &mailSession{server: s, conn: c}, nil
}

// mailSession is one connection. The library calls it from one goroutine.
type mailSession struct {
	server *MailServer
	conn   *smtp.Conn
	user   string
	mail   Mail
}

func (s *mailSession) Reset()        { s.mail = Mail{} }
func (s *mailSession) Logout() error { return nil }

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	_, secured := s.conn.TLSConnectionState()
	s.mail = Mail{From: from, Secured: secured, User: s.user}
	if s.server.options.Users != nil && s.user == "" {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "Authentication required"}
	}
	return s.answer(MailFrom)
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = to
	return s.answer(MailTo)
}

func (s *mailSession) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	s.mail.Data = data
	s.server.mails.add(s.mail)
	return s.answer(MailEnd)
}

func (s *mailSession) answer(step MailStep) error {
	s.server.mu.Lock()
	answer := s.server.answer
	s.server.mu.Unlock()
	if answer == nil {
		return nil
	}
	a := answer(step)
	switch {
	case a.Never:
		<-s.server.closed
		return errors.New("closed")
	case a.Cut:
		_ = s.conn.Conn().Close()
		return errors.New("cut")
	case a.Code != 0:
		return &smtp.SMTPError{Code: a.Code, EnhancedCode: a.Enhanced, Message: a.Text}
	}
	return nil
}

// AuthMechanisms and Auth implement smtp.AuthSession.
func (s *mailSession) AuthMechanisms() []string {
	switch {
	case s.server.options.Users == nil:
		return nil
	case s.server.options.Ways != nil:
		return s.server.options.Ways
	}
	return []string{sasl.Plain, sasl.Login}
}

// Auth begins a login.
func (s *mailSession) Auth(way string) (sasl.Server, error) {
	check := func(user, password string) error {
		if known, ok := s.server.options.Users[user]; !ok || known != password {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}
	if way == sasl.Login {
		return &loginServer{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return check(user, password) }), nil
}

// loginServer is the old LOGIN mechanism, which the library has only for clients.
type loginServer struct {
	check func(user, password string) error
	step  int
	user  string
}

// Next asks for the user, then for the password.
func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	default:
		return nil, true, l.check(l.user, string(response))
	}
}
