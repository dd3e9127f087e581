package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

// ValidNotices returns a config.Check for each setting of the channels of notices, so
// that every wrong setting is reported.
func ValidNotices() []config.Check {
	var checks []config.Check
	for _, field := range []string{
		"email_url", "smtp_password", "smtp_password_file", "email_from", "email_tls", "email_templates", "alert_secret", "alert_secret_file",
	} {
		checks = append(checks, func(c config.Config) *fault.InvalidError {
			opened, err := OpenNotices(context.Background(), c, time.Now, io.Discard, slog.New(slog.DiscardHandler))
			return invalidSetting(errors.Join(err, opened.Close()), field)
		})
	}
	return checks
}

// ContactsMayBeSet is a config.Check for the contacts that the settings give to the store:
// those of accounts and policies.
func ContactsMayBeSet(c config.Config) *fault.InvalidError {
	rule := contact.Rule{AllowInternal: c.AllowInternalWebhooks}
	problems := []error{rule.Check("policy.alert_to", c.Policy.AlertTo)}
	for _, p := range c.Seeds.Policies {
		problems = append(problems, rule.Check("policies."+p.Name+".alert_to", p.AlertTo))
	}
	for _, a := range c.Seeds.Accounts {
		problems = append(problems, rule.Check("accounts."+a.Name+".contact", a.Contact))
	}
	wrong, _ := errors.AsType[*fault.InvalidError](errors.Join(problems...))
	return wrong
}

// OpenNotices returns the channels that deliver notices to contacts. With the mail
// target "log:", mails become lines of log. Without a mail server, notices to e-mail
// addresses fail with notifier.ErrNoChannel. Notices have the time of now. The error contains
// a *notifier.InvalidError for each wrong setting.
//
// A channel whose secret is in a file is opened again when the file changes, until it is closed.
func OpenNotices(
	ctx context.Context, c config.Config, now func() time.Time, log io.Writer, logger *slog.Logger,
) (notifier.ByContact, error) {
	posts, problem := alertSecret().announcer(ctx, c, logger, func(c config.Config) (notifier.Announcer, error) { return openPosts(c, now) })
	mails, err := followEmail(ctx, c, now, log, logger)
	opened := notifier.ByContact{Email: mails, Webhook: posts}
	if err := errors.Join(err, problem); err != nil {
		return notifier.ByContact{}, errors.Join(fmt.Errorf("opening the channels of notices: %w", err), opened.Close())
	}
	return opened, nil
}

func openPosts(c config.Config, now func() time.Time) (notifier.Announcer, error) {
	posts, err := webhook.NewAnnouncer(webhook.AnnouncerConfig{
		Secret: string(c.AlertSecret), AllowInternal: c.AllowInternalWebhooks, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
	})
	if err != nil {
		return nil, err
	}
	return posts, nil
}

// OpenCallbacks returns what posts events to the callbacks of accounts, signed with the time of
// now. The error contains a *notifier.InvalidError for each wrong setting.
func OpenCallbacks(c config.Config, now func() time.Time) (*webhook.Callback, error) {
	posts, err := webhook.NewCallback(webhook.CallbackConfig{
		AllowInternal: c.EventsAllowInternal, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the callbacks: %w", err)
	}
	return posts, nil
}

// followEmail opens the mail server as openEmail does, and opens it again when the file of its
// password changes.
func followEmail(
	ctx context.Context, c config.Config, now func() time.Time, log io.Writer, logger *slog.Logger,
) (notifier.Announcer, error) {
	open := func(c config.Config) (notifier.Announcer, error) { return openEmail(c, now, log) }
	if c.EmailTarget() == "" {
		return open(c)
	}
	return smtpPassword().announcer(ctx, c, logger, open)
}

// openEmail returns nil if no mail server is set.
func openEmail(c config.Config, now func() time.Time, log io.Writer) (notifier.Announcer, error) {
	switch target := c.EmailTarget(); target {
	case "":
		return nil, nil
	case config.LogTarget:
		lines, err := logline.New(log, now)
		if err != nil {
			return nil, err
		}
		// Wrong templates are reported before there is a mail server, too.
		if _, err := email.LoadTemplates(c.EmailTemplates); err != nil {
			return nil, err
		}
		return lines, nil
	default:
		mails, err := email.Open(emailOptions(c, now))
		if err != nil {
			return nil, err
		}
		return mails, nil
	}
}

// EmailOptions returns the settings of the mail server. The error is about the file of the
// password.
func EmailOptions(c config.Config) (email.Options, error) {
	c, err := smtpPassword().read(c)
	return emailOptions(c, time.Now), err
}

func emailOptions(c config.Config, now func() time.Time) email.Options {
	return email.Options{
		URL: c.EmailURL, Password: string(c.SMTPPassword), From: c.EmailFrom,
		Templates: c.EmailTemplates, TLS: c.EmailTLS, Now: now,
	}
}

// invalidSetting returns what an error says about one setting. Nil means nothing.
func invalidSetting(err error, field string) *fault.InvalidError {
	switch e := err.(type) { //nolint:errorlint // it walks the whole tree
	case nil:
		return nil
	case *notifier.InvalidError:
		if e.Field == field {
			return &fault.InvalidError{Field: e.Field, Value: e.Value, Want: e.Want}
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if problem := invalidSetting(one, field); problem != nil {
				return problem
			}
		}
	default:
		return invalidSetting(errors.Unwrap(err), field)
	}
	return nil
}
