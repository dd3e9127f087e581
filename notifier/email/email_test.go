package email_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	contact  = "ops@receiver.example"
	sender   = "Alerts <alerts@sender.example>"
	user     = "robot"
	password = "hunter2-of-smtp"
)

func serve(t *testing.T, o notifiertest.MailServerOptions) *notifiertest.MailServer {
	t.Helper()
	server, err := notifiertest.NewMailServer(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

// open returns an announcer to a server by the scheme of a URL, with a login
// where there is one.
func open(t *testing.T, server *notifiertest.MailServer, scheme, login string, change ...func(*email.Options)) *email.Announcer {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(server.Root())
	o := email.Options{URL: scheme + "://" + login + server.Address(), From: sender, RootCAs: roots, Now: noon}
	for _, c := range change {
		c(&o)
	}
	announcer, err := email.Open(o)
	require.NoError(t, err)
	return announcer
}

func noon() time.Time { return time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC) }

func withTLS(policy string) func(*email.Options) { return func(o *email.Options) { o.TLS = policy } }

// always answers a step in one way and accepts the others.
func always(step notifiertest.MailStep, a notifiertest.MailAnswer) func(notifiertest.MailStep) notifiertest.MailAnswer {
	return func(at notifiertest.MailStep) notifiertest.MailAnswer {
		if at == step {
			return a
		}
		return notifiertest.MailAnswer{}
	}
}

// received is a mail as a mailbox shows it.
type received struct {
	header     mail.Header
	subject    string
	text, html string
}

func read(t *testing.T, data []byte) received {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(data))
	require.NoError(t, err)
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/alternative", kind)
	r := received{header: message.Header}
	r.subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	require.NoError(t, err)
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for _, into := range []*string{&r.text, &r.html} {
		part, err := parts.NextRawPart()
		require.NoError(t, err)
		require.Equal(t, "quoted-printable", part.Header.Get("Content-Transfer-Encoding"))
		content, err := io.ReadAll(quotedprintable.NewReader(part))
		require.NoError(t, err)
		*into = strings.ReplaceAll(string(content), "\r\n", "\n")
	}
	_, err = parts.NextPart()
	require.ErrorIs(t, err, io.EOF)
	return r
}

func TestConformance(t *testing.T) {
	t.Parallel()
	secured := notifiertest.MailServerOptions{TLS: true, Users: map[string]string{user: password}}
	withAnswer := func(step notifiertest.MailStep, a notifiertest.MailAnswer) func(t *testing.T) (notifier.Announcer, string) {
		return func(t *testing.T) (notifier.Announcer, string) {
			t.Helper()
			server := serve(t, secured)
			server.AnswerWith(always(step, a))
			return open(t, server, "smtp", user+":"+password+"@", withTLS(email.TLSMandatory)), contact
		}
	}
	notifiertest.RunAnnouncer(t, notifiertest.AnnouncerSuite{
		New: withAnswer("", notifiertest.MailAnswer{}),
		// A server may repeat what it refuses.
		Failing: withAnswer(notifiertest.MailTo, notifiertest.MailAnswer{
			Code: 550, Enhanced: [3]int{5, 1, 1}, Text: "no such user " + contact + " " + password,
		}),
		Stuck:   withAnswer(notifiertest.MailEnd, notifiertest.MailAnswer{Never: true}),
		Secrets: []string{contact, password, user, "127.0.0.1"},
	})
}

func TestWaysIn(t *testing.T) {
	t.Parallel()
	users := map[string]string{user: password}
	login := user + ":" + password + "@"
	for _, row := range []struct {
		name          string
		server        notifiertest.MailServerOptions
		scheme, login string
		tls           string
		secured       bool
	}{
		{"plain on loopback, where nothing is said", notifiertest.MailServerOptions{}, "smtp", "", "", false},
		{"STARTTLS", notifiertest.MailServerOptions{TLS: true}, "smtp", "", email.TLSMandatory, true},
		{"STARTTLS where it is offered", notifiertest.MailServerOptions{TLS: true}, "smtp", "", email.TLSOpportunistic, true},
		{"no STARTTLS where it is not", notifiertest.MailServerOptions{}, "smtp", "", email.TLSOpportunistic, false},
		{"no STARTTLS where none is wanted", notifiertest.MailServerOptions{TLS: true}, "smtp", "", email.TLSNone, false},
		{"implicit TLS", notifiertest.MailServerOptions{ImplicitTLS: true}, "smtps", "", "", true},
		{"PLAIN after STARTTLS", notifiertest.MailServerOptions{TLS: true, Users: users, Ways: []string{"PLAIN"}}, "smtp", login, email.TLSMandatory, true},
		{"LOGIN after STARTTLS", notifiertest.MailServerOptions{TLS: true, Users: users, Ways: []string{"LOGIN"}}, "smtp", login, email.TLSMandatory, true},
		{"a login within implicit TLS", notifiertest.MailServerOptions{ImplicitTLS: true, Users: users}, "smtps", login, "", true},
		{"a login on loopback", notifiertest.MailServerOptions{Users: users}, "smtp", login, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, row.server)
			announcer := open(t, server, row.scheme, row.login, withTLS(row.tls))
			require.NoError(t, announcer.Check(t.Context()))
			require.Empty(t, server.Mails(), "a check sends nothing")
			result := announcer.Announce(t.Context(), contact, notifiertest.Notices()["account"])
			require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
			mails := server.Mails()
			require.Len(t, mails, 1)
			require.Equal(t, row.secured, mails[0].Secured)
			require.Equal(t, row.login != "", mails[0].User == user)
			require.Equal(t, "alerts@sender.example", mails[0].From)
			require.Equal(t, contact, mails[0].To)
		})
	}
}

func TestWaysThatAreRefused(t *testing.T) {
	t.Parallel()
	users := map[string]string{user: password}
	untrusted := func(o *email.Options) { o.RootCAs = x509.NewCertPool() }
	for _, row := range []struct {
		name          string
		server        notifiertest.MailServerOptions
		scheme, login string
		change        func(*email.Options)
		reason        notifier.Reason
		says          string
	}{
		{"STARTTLS is not offered", notifiertest.MailServerOptions{}, "smtp", "", withTLS(email.TLSMandatory), notifier.ReasonUnreachable, "STARTTLS failed"},
		{"nobody vouches for the server", notifiertest.MailServerOptions{TLS: true}, "smtp", "", func(o *email.Options) {
			untrusted(o)
			o.TLS = email.TLSMandatory
		}, notifier.ReasonUnreachable, "certificate"},
		{"nobody vouches for the server of implicit TLS", notifiertest.MailServerOptions{ImplicitTLS: true}, "smtps", "", untrusted, notifier.ReasonUnreachable, "certificate"},
		{"it speaks no TLS", notifiertest.MailServerOptions{}, "smtps", "", nil, notifier.ReasonUnreachable, "does not speak TLS"},
		{"the wrong password", notifiertest.MailServerOptions{TLS: true, Users: users}, "smtp", user + ":wrong@", nil, notifier.ReasonUnauthorized, "535 5.7.8"},
		{"no login where one is wanted", notifiertest.MailServerOptions{Users: users}, "smtp", "", nil, notifier.ReasonUnauthorized, "530 5.7.0"},
		{"a login where none is offered", notifiertest.MailServerOptions{}, "smtp", user + ":" + password + "@", nil, notifier.ReasonUnauthorized, "login"},
		{"none of the ways is known", notifiertest.MailServerOptions{Users: users, Ways: []string{"XOAUTH2"}}, "smtp", user + ":" + password + "@", nil, notifier.ReasonUnauthorized, "login"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, row.server)
			announcer := open(t, server, row.scheme, row.login, func(o *email.Options) {
				if row.change != nil {
					row.change(o)
				}
			})
			result := announcer.Announce(t.Context(), contact, notifiertest.Notices()["account"])
			require.NoError(t, result.Validate())
			require.Equal(t, notifier.Retry, result.Status, "the operator can mend it")
			require.Equal(t, row.reason, result.Reason, "%v", result.Err)
			require.False(t, result.Uncertain())
			require.ErrorContains(t, result.Err, row.says)
			require.NotContains(t, result.Err.Error(), password)
			require.Empty(t, server.Mails())
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	row := func(step notifiertest.MailStep, code int, s notifier.Status, r notifier.Reason) struct {
		step   notifiertest.MailStep
		answer notifiertest.MailAnswer
		status notifier.Status
		reason notifier.Reason
	} {
		return struct {
			step   notifiertest.MailStep
			answer notifiertest.MailAnswer
			status notifier.Status
			reason notifier.Reason
		}{step, notifiertest.MailAnswer{Code: code, Enhanced: [3]int{code / 100, 7, 1}, Text: "for " + contact}, s, r}
	}
	rows := []struct {
		step   notifiertest.MailStep
		answer notifiertest.MailAnswer
		status notifier.Status
		reason notifier.Reason
	}{
		row(notifiertest.MailFrom, 421, notifier.Retry, notifier.ReasonUnavailable),
		row(notifiertest.MailFrom, 452, notifier.Retry, notifier.ReasonUnavailable),
		row(notifiertest.MailFrom, 550, notifier.Permanent, notifier.ReasonRejected),
		row(notifiertest.MailFrom, 530, notifier.Retry, notifier.ReasonUnauthorized),
		row(notifiertest.MailTo, 450, notifier.Retry, notifier.ReasonUnavailable), // a greylist
		row(notifiertest.MailTo, 550, notifier.Permanent, notifier.ReasonMisaddressed),
		row(notifiertest.MailTo, 554, notifier.Permanent, notifier.ReasonMisaddressed),
		row(notifiertest.MailEnd, 451, notifier.Retry, notifier.ReasonUnavailable),
		row(notifiertest.MailEnd, 554, notifier.Permanent, notifier.ReasonRejected),
	}
	// Without an answer only the end of the message leaves a doubt.
	for step, reason := range map[notifiertest.MailStep]notifier.Reason{
		notifiertest.MailFrom: notifier.ReasonUnreachable, notifiertest.MailTo: notifier.ReasonUnreachable,
		notifiertest.MailEnd: notifier.ReasonNetwork,
	} {
		cut := row(step, 0, notifier.Retry, reason)
		cut.answer = notifiertest.MailAnswer{Cut: true}
		rows = append(rows, cut)
	}
	server := serve(t, notifiertest.MailServerOptions{})
	announcer := open(t, server, "smtp", "")
	for _, row := range rows {
		server.AnswerWith(always(row.step, row.answer))
		result := announcer.Announce(t.Context(), contact, notifiertest.Notices()["account"])
		require.NoError(t, result.Validate())
		require.Equal(t, row.status, result.Status, "%s %d: %v", row.step, row.answer.Code, result.Err)
		require.Equal(t, row.reason, result.Reason, "%s %d: %v", row.step, row.answer.Code, result.Err)
		require.NotContains(t, result.Err.Error(), contact)
		failed, ok := errors.AsType[*email.Error](result.Err)
		require.True(t, ok)
		require.Equal(t, row.answer.Code, failed.Code)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	server := serve(t, notifiertest.MailServerOptions{})
	announcer := open(t, server, "smtp", "")
	server.Close()
	result := announcer.Announce(t.Context(), contact, notifiertest.Notices()["account"])
	require.Equal(t, notifier.Retry, result.Status)
	require.Equal(t, notifier.ReasonUnreachable, result.Reason)
	require.ErrorContains(t, result.Err, "connection refused")
	require.ErrorContains(t, announcer.Check(t.Context()), "connecting failed")
}

func TestOnlyABareAddressIsSentTo(t *testing.T) {
	t.Parallel()
	server := serve(t, notifiertest.MailServerOptions{})
	announcer := open(t, server, "smtp", "")
	for _, to := range []string{
		"", "ops", "Ops <ops@receiver.example>", "a@b.example, c@d.example", "a@b.example\r\nBcc: c@d.example",
		"a@b.example>\r\nRCPT TO:<c@d.example", `"a b"@c.example`, "jörg@d.example", "https://receiver.example",
	} {
		result := announcer.Announce(t.Context(), to, notifiertest.Notices()["account"])
		require.NoError(t, result.Validate(), to)
		require.Equal(t, notifier.Permanent, result.Status, to)
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason, to)
		require.ErrorIs(t, result.Err, email.ErrAddress)
	}
	require.Empty(t, server.Mails())
}
