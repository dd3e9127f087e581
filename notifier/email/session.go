package email

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// quitTime bounds the write of QUIT to the system's buffer.
const quitTime = time.Second

// The steps of a session, for errors.
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
	conn     net.Conn
	client   *smtp.Client
	timeouts Timeouts
	stop     func() bool
}

// connect returns a session that is ready to send, or a *stepError.
func (a *Announcer) connect(ctx context.Context) (*session, error) {
	conn, err := a.dial(ctx)
	if err != nil {
		return nil, &stepError{step: stepConnect, cause: err}
	}
	// The client library waits until the connection is closed.
	s := &session{
		conn: conn, timeouts: a.timeouts, stop: context.AfterFunc(ctx, func() { _ = conn.Close() }),
	}
	if err := s.open(ctx, a); err != nil {
		s.end(err)
		return nil, err
	}
	return s, nil
}

func (a *Announcer) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeouts.Connect)
	defer cancel()
	if a.server.implicit {
		dialer := &tls.Dialer{Config: a.tls}
		return dialer.DialContext(ctx, "tcp", a.server.address())
	}
	return new(net.Dialer).DialContext(ctx, "tcp", a.server.address())
}

func (s *session) open(ctx context.Context, a *Announcer) error {
	if err := s.greet(ctx, a.server.host); err != nil {
		return err
	}
	if err := s.step(stepHello, s.timeouts.Command, func() error { return s.client.Hello(a.name) }); err != nil {
		return err
	}
	if err := s.secure(a); err != nil {
		return err
	}
	return s.logIn(a.server)
}

// greet waits for the server's greeting. The client library has no deadline for it.
func (s *session) greet(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.Greeting)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	client, err := smtp.NewClient(s.conn, host)
	if ended := ctx.Err(); err != nil && ended != nil {
		err = ended // the connection was closed for it
	}
	if err != nil {
		return &stepError{step: stepGreeting, cause: err}
	}
	s.client = client
	return nil
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
	// Half of it is for the handshake, half for the second EHLO.
	return s.step(stepTLS, 2*s.timeouts.Command, func() error { return s.client.StartTLS(a.tls) })
}

// logIn uses the best method of the server. A method that sends the password fails on an unsecured
// connection.
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
				continue // it needs a secured connection
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
		return s.step(stepLogin, s.timeouts.Command, func() error { return s.client.Auth(login) })
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
	t := s.timeouts
	if err := s.step(stepSender, t.Command, func() error { return s.client.Mail("<" + from + ">") }); err != nil {
		return err
	}
	if err := s.step(stepReceiver, t.Command, func() error { return s.client.Rcpt("<" + to + ">") }); err != nil {
		return err
	}
	var content io.WriteCloser
	if err := s.step(stepData, t.Data, func() (err error) {
		content, err = s.client.Data()
		return err
	}); err != nil {
		return err
	}
	if err := s.step(stepContent, t.Content, func() error {
		_, err := message.WriteTo(content)
		return err
	}); err != nil {
		return err // the server drops a message without an end
	}
	return s.step(stepAccepted, t.Accepted, content.Close)
}

// step runs a step with a timeout, and adds its name to an error.
func (s *session) step(name string, timeout time.Duration, do func() error) error {
	err := s.client.UpdateDeadline(timeout)
	if err == nil {
		err = do()
	}
	if err != nil {
		return &stepError{step: name, cause: err}
	}
	return nil
}

// end hangs up after the last step, which had this error. If the server waits for a command, it sends
// QUIT first, without waiting for the answer, on which nothing depends. Postfix does not wait, either.
func (s *session) end(last error) {
	if s.client != nil && awaitsCommand(last) && s.client.UpdateDeadline(quitTime) == nil {
		_ = s.client.Text.PrintfLine("QUIT")
	}
	s.stop()
	_ = s.conn.Close()
}

// awaitsCommand reports whether a server still waits for a command after a step: it has accepted or
// refused the step, or was not asked.
func awaitsCommand(last error) bool {
	if last == nil {
		return true
	}
	failed, _ := errors.AsType[*stepError](last)
	if failed == nil {
		return false
	}
	_, refused := errors.AsType[*textproto.Error](failed.cause)
	return refused || errors.Is(failed.cause, errNoTLS) || errors.Is(failed.cause, errNoLogin)
}
