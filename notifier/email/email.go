package email

import (
	"context"
	"crypto/tls"
	"errors"
	"os"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Announcer sends notices to e-mail addresses. Create one with Open. It opens a connection for each
// notice, since they are few.
type Announcer struct {
	*Composer

	server   server
	timeouts Timeouts
	tls      *tls.Config
	name     string // of this machine, sent to the server
}

// Open returns an Announcer. It does not connect, see Check. The error has a *notifier.InvalidError
// for each wrong setting: email_url, smtp_password, email_from, email_tls or email_templates. It
// shows no password.
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
		timeouts: o.Timeouts.withDefaults(),
		tls:      &tls.Config{ServerName: to.host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		name:     name,
	}, nil
}

// Announce sends n to an e-mail address once. It returns when ctx ends, when a step times out, or
// when the server has accepted or refused the message. It hangs up in a notifier.Cleanup.
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
	err = s.send(a.from.Address, to, message)
	notifier.Cleanup(ctx, func() { s.end(err) })
	if err != nil {
		return judge(ctx, err)
	}
	return notifier.Result{Status: notifier.Delivered}
}

// Check connects, secures the connection and logs in, without sending. The error names the failed
// step.
func (a *Announcer) Check(ctx context.Context) error {
	s, err := a.connect(ctx)
	if err != nil {
		return judge(ctx, err).Err
	}
	err = s.step("NOOP", s.timeouts.Command, s.client.Noop)
	s.end(err)
	if err != nil {
		return judge(ctx, err).Err
	}
	return nil
}
