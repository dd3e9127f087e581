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
	"github.com/sendlimit/sendlimiter/notifier/reload"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

// ValidNotices is a config.Check of the settings of the channels of alerts.
func ValidNotices(c config.Config) error {
	opened, err := OpenNotices(context.Background(), c, time.Now, io.Discard, slog.New(slog.DiscardHandler))
	return errors.Join(err, opened.Close())
}

// ContactsMayBeSet is a config.Check for the contacts of accounts and policies in the settings.
func ContactsMayBeSet(c config.Config) error {
	rule := contact.Rule{AllowInternal: c.AllowInternalWebhooks}
	problems := []error{rule.Check("policy.alert_to", c.Policy.AlertTo)}
	for _, p := range c.Seeds.Policies {
		problems = append(problems, rule.Check("policies."+p.Name+".alert_to", p.AlertTo))
	}
	for _, a := range c.Seeds.Accounts {
		problems = append(problems, rule.Check("accounts."+a.Name+".contact", a.Contact))
	}
	return errors.Join(problems...)
}

// OpenNotices returns the channels that deliver alerts to contacts. With the mail target "log:",
// mails become lines of log. Without a mail server, alerts to e-mail addresses fail with
// notifier.ErrNoChannel. Alerts have the time of now. The error contains a *fault.InvalidError for
// each wrong setting.
//
// A channel whose secret is in a file is opened again when the file changes, until it is closed.
func OpenNotices(
	ctx context.Context, c config.Config, now func() time.Time, log io.Writer, logger *slog.Logger,
) (opened notifier.ByContact, err error) {
	var problem error
	opened.Webhook, problem = follow(ctx, alertSecret(), c, logger, reload.NewAnnouncer, func(c config.Config) (notifier.Announcer, error) {
		return as[notifier.Announcer](webhook.NewAnnouncer(webhook.AnnouncerConfig{
			Secret: string(c.AlertSecret), AllowInternal: c.AllowInternalWebhooks, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
		}))
	})
	if c.EmailTarget() != "" {
		opened.Email, err = follow(ctx, smtpPassword(), c, logger, reload.NewAnnouncer, func(c config.Config) (notifier.Announcer, error) {
			return openEmail(c, now, log)
		})
	}
	if err := errors.Join(err, problem); err != nil {
		return notifier.ByContact{}, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// OpenCallbacks returns the poster of events to the callbacks of accounts, which signs with the
// time of now. The error contains a *notifier.InvalidError for each wrong setting.
func OpenCallbacks(c config.Config, now func() time.Time) (*webhook.Callback, error) {
	posts, err := webhook.NewCallback(webhook.CallbackConfig{
		AllowInternal: c.EventsAllowInternal, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the callbacks: %w", err)
	}
	return posts, nil
}

func openEmail(c config.Config, now func() time.Time, log io.Writer) (notifier.Announcer, error) {
	if c.EmailTarget() != config.LogTarget {
		return as[notifier.Announcer](email.Open(emailOptions(c, now)))
	}
	// Wrong templates are reported even without a mail server.
	if _, err := email.LoadTemplates(c.EmailTemplates); err != nil {
		return nil, err
	}
	return as[notifier.Announcer](logline.New(log, now))
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
