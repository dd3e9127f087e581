package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// validAnnouncer are the config.Checks that the settings of notices make
// channels: one for each setting, so that all that is wrong is reported.
func validAnnouncer() []config.Check {
	var checks []config.Check
	for _, field := range []string{
		"email_url", "smtp_password", "email_from", "email_tls", "email_templates", "alert_secret",
	} {
		checks = append(checks, func(c config.Config) *fault.InvalidError {
			_, err := openAnnouncer(c, io.Discard)
			return invalidSetting(err, field)
		})
	}
	return checks
}

// openAnnouncer returns what takes notices to contacts; what is for e-mail
// addresses goes to log where the settings say so. Without a mail server, notices
// to e-mail addresses get notifier.ErrNoChannel. The error has the settings that
// are to blame, each as a *notifier.InvalidError.
func openAnnouncer(c config.Config, log io.Writer) (notifier.ByContact, error) {
	posts, problem := webhook.NewAnnouncer(webhook.AnnouncerConfig{
		Secret: string(c.AlertSecret), AllowInternal: c.AllowInternalWebhooks, Timeout: c.PushTimeout, Now: time.Now,
	})
	mails, err := openEmail(c, log)
	if err := errors.Join(err, problem); err != nil {
		return notifier.ByContact{}, fmt.Errorf("opening the channels of notices: %w", err)
	}
	return notifier.ByContact{Email: mails, Webhook: posts}, nil
}

// openEmail returns nil where nothing is set up.
func openEmail(c config.Config, log io.Writer) (notifier.Announcer, error) {
	switch target := c.EmailTarget(); target {
	case "":
		return nil, nil
	case config.LogTarget:
		lines, err := logline.New(log, time.Now)
		if err != nil {
			return nil, err
		}
		// What would be sent once there is a server is wrong already now.
		if _, err := email.LoadTemplates(c.EmailTemplates); err != nil {
			return nil, err
		}
		return lines, nil
	default:
		mails, err := email.Open(emailOptions(c))
		if err != nil {
			return nil, err
		}
		return mails, nil
	}
}

func emailOptions(c config.Config) email.Options {
	return email.Options{
		URL: c.EmailURL, Password: string(c.SMTPPassword), From: c.EmailFrom,
		Templates: c.EmailTemplates, TLS: c.EmailTLS, Now: time.Now,
	}
}

// invalidSetting finds what an error of several says of one setting.
func invalidSetting(err error, field string) *fault.InvalidError {
	switch e := err.(type) { //nolint:errorlint // it goes through the whole tree
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
