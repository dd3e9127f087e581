package email

import (
	"context"
	"crypto/tls"
	"errors"
	"os"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Announcer sends notices to e-mail addresses. Make one with Open. It keeps no
// connection between two notices, which are few.
type Announcer struct {
	*Composer

	server server
	tls    *tls.Config
	name   string // this machine's, said to the server
}

// Open returns an Announcer for o. It does not connect, see Check. Settings that
// are not allowed are all in the error, each as a *notifier.InvalidError that
// names email_url, smtp_password, email_from, email_tls or email_templates; none
// of them shows a password.
func Open(o Options) (*Announcer, error) {
	to, from, err := o.validate()
	templates, problem := LoadTemplates(o.Templates)
	if err := errors.Join(err, problem); err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return &Announcer{
		Composer: &Composer{from: from, templates: templates, now: o.Now},
		server:   to,
		tls:      &tls.Config{ServerName: to.host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		name:     name,
	}, nil
}

// Announce sends n to an e-mail address, once. ctx bounds it.
func (a *Announcer) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	message, err := a.Compose(to, n)
	if errors.Is(err, ErrAddress) {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonMisaddressed, Err: err}
	}
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: err}
	}
	s, err := a.connect(ctx)
	if err != nil {
		return judge(ctx, err)
	}
	defer s.hangUp()
	if err := s.hand(a.from.Address, to, message); err != nil {
		return judge(ctx, err)
	}
	s.quit(ctx)
	return notifier.Result{Status: notifier.Delivered}
}

// Check connects, secures the connection and logs in as for a notice, and sends
// none. The error says in which step what went wrong.
func (a *Announcer) Check(ctx context.Context) error {
	s, err := a.connect(ctx)
	if err != nil {
		return judge(ctx, err).Err
	}
	defer s.hangUp()
	if err := s.step("NOOP", s.client.Noop()); err != nil {
		return judge(ctx, err).Err
	}
	s.quit(ctx)
	return nil
}
