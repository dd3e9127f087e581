package email

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// quitTime bounds QUIT: the message is accepted by then.
const quitTime = time.Second

// The steps of a session, as errors show them.
const (
	stepConnect  = "connecting"
	stepGreeting = "the greeting"
	stepHello    = "EHLO"
	stepTLS      = "STARTTLS"
	stepLogin    = "the login"
	stepSender   = "MAIL"
	stepReceiver = "RCPT"
	stepData     = "DATA"
	stepContent  = "the message"
	stepAccepted = "the end of the message"
)

// session is one connection to a mail server. It ends with the context of connect.
type session struct {
	conn   net.Conn
	client *smtp.Client
	stop   func() bool
}

// connect returns a session that is ready to send, or a *stepError.
func (a *Announcer) connect(ctx context.Context) (*session, error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return nil, &stepError{step: stepConnect, cause: err}
	}
	// The client library waits as long as the connection is open.
	s := &session{conn: conn, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}
	if err := s.open(a); err != nil {
		s.hangUp()
		return nil, err
	}
	return s, nil
}

func (a *Announcer) dial(ctx context.Context) (net.Conn, error) {
	if a.server.implicit {
		dialer := &tls.Dialer{Config: a.tls}
		return dialer.DialContext(ctx, "tcp", a.server.address()) //nolint:wrapcheck // connect does
	}
	return new(net.Dialer).DialContext(ctx, "tcp", a.server.address()) //nolint:wrapcheck // connect does
}

func (s *session) open(a *Announcer) error {
	client, err := smtp.NewClient(s.conn, a.server.host)
	if err != nil {
		return s.step(stepGreeting, err)
	}
	s.client = client
	if err := s.step(stepHello, client.Hello(a.name)); err != nil {
		return err
	}
	if err := s.secure(a); err != nil {
		return err
	}
	return s.logIn(a.server)
}

func (s *session) secure(a *Announcer) error {
	if a.server.implicit || a.server.tls == TLSNone {
		return nil
	}
	if offered, _ := s.client.Extension("STARTTLS"); !offered {
		if a.server.tls == TLSOpportunistic {
			return nil
		}
		return &stepError{step: stepTLS, cause: errNoTLS}
	}
	return s.step(stepTLS, s.client.StartTLS(a.tls))
}

// logIn uses the best method that the server offers. A method that shows the password fails on
// an unsecured connection.
func (s *session) logIn(to server) error {
	if to.user == "" {
		return nil
	}
	_, offered := s.client.Extension("AUTH")
	secured, err := s.client.GetTLSConnectionState()
	for way := range strings.FieldsSeq("SCRAM-SHA-256-PLUS SCRAM-SHA-256 SCRAM-SHA-1-PLUS SCRAM-SHA-1 CRAM-MD5 PLAIN LOGIN") {
		if !containsWord(offered, way) {
			continue
		}
		var login smtp.Auth
		switch way {
		case "SCRAM-SHA-256-PLUS":
			if err != nil {
				continue // bound to a connection that is secured
			}
			login = smtp.ScramSHA256PlusAuth(to.user, to.password, secured)
		case "SCRAM-SHA-256":
			login = smtp.ScramSHA256Auth(to.user, to.password)
		case "SCRAM-SHA-1-PLUS":
			if err != nil {
				continue
			}
			login = smtp.ScramSHA1PlusAuth(to.user, to.password, secured)
		case "SCRAM-SHA-1":
			login = smtp.ScramSHA1Auth(to.user, to.password)
		case "CRAM-MD5":
			login = smtp.CRAMMD5Auth(to.user, to.password)
		case "PLAIN":
			login = smtp.PlainAuth("", to.user, to.password, to.host, false)
		default:
			login = smtp.LoginAuth(to.user, to.password, to.host, false)
		}
		return s.step(stepLogin, s.client.Auth(login))
	}
	return &stepError{step: stepLogin, cause: errNoLogin}
}

func containsWord(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// send sends the message. Both addresses are bare.
func (s *session) send(from, to string, message Message) error {
	if err := s.step(stepSender, s.client.Mail("<"+from+">")); err != nil {
		return err
	}
	if err := s.step(stepReceiver, s.client.Rcpt("<"+to+">")); err != nil {
		return err
	}
	content, err := s.client.Data()
	if err != nil {
		return s.step(stepData, err)
	}
	if _, err := message.WriteTo(content); err != nil {
		// The server drops a message without an end.
		return s.step(stepContent, err)
	}
	return s.step(stepAccepted, content.Close())
}

// step adds the step to an error.
func (s *session) step(name string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{step: name, cause: err}
}

// quit sends QUIT, within quitTime. Nothing depends on it.
func (s *session) quit(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quitTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	_ = s.client.Quit()
}

func (s *session) hangUp() {
	s.stop()
	_ = s.conn.Close()
}
