package config

import (
	"net/url"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// writtenEmail has the settings about e-mail and contacts, as written.
type writtenEmail struct {
	EmailURL              string `env:"EMAIL_URL"`
	SMTPPassword          string `env:"SMTP_PASSWORD"`
	SMTPPasswordFile      string `env:"SMTP_PASSWORD_FILE"`
	EmailFrom             string `env:"EMAIL_FROM"`
	EmailTLS              string `env:"EMAIL_TLS"`
	EmailTemplates        string `env:"EMAIL_TEMPLATES"`
	AlertSecret           string `env:"ALERT_SECRET"`
	AlertSecretFile       string `env:"ALERT_SECRET_FILE"`
	AllowInternalWebhooks string `env:"ALLOW_INTERNAL_WEBHOOKS"`
	AlertRetryMin         string `env:"ALERT_RETRY_MIN"`
	AlertRetryMax         string `env:"ALERT_RETRY_MAX"`
	AlertRetryFor         string `env:"ALERT_RETRY_FOR"`
}

// emailSettings returns the rows of the table about e-mail and contacts.
func emailSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "email_url", written: &w.Email.EmailURL, kind: "url",
			help: "mail server: smtp://USER@HOST:587 or smtps://USER@HOST:465," +
				" or log: for a line each on standard output",
			accept: emailURL(&c.EmailURL), show: redactURL,
		},
		{
			key: "smtp_password", written: &w.Email.SMTPPassword,
			accept: secretText(&c.SMTPPassword), show: hideSecret,
		},
		{
			key: "smtp_password_file", written: &w.Email.SMTPPasswordFile, kind: "file",
			help:   "file with the password of the user in email_url, which is read again when it changes",
			accept: text(&c.SMTPPasswordFile),
		},
		{
			key: "email_from", written: &w.Email.EmailFrom, kind: "address",
			help:   "sender of e-mails, such as alerts@example.com",
			accept: text(&c.EmailFrom),
		},
		{
			key: "email_tls", written: &w.Email.EmailTLS, kind: "policy",
			help: "how an smtp connection is secured: mandatory, opportunistic or none;" +
				" the default is mandatory, and none on loopback",
			accept: oneOf(&c.EmailTLS, "mandatory", "opportunistic", "none"),
			words:  []string{"mandatory", "opportunistic", "none"},
		},
		{
			key: "email_templates", written: &w.Email.EmailTemplates, kind: "folder",
			help:   "folder of templates that replace the built-in e-mail templates",
			accept: text(&c.EmailTemplates),
		},
		{
			key: "alert_secret", written: &w.Email.AlertSecret, list: true,
			accept: pushSecret(&c.AlertSecret), show: hideSecret,
		},
		{
			key: "alert_secret_file", written: &w.Email.AlertSecretFile, kind: "file",
			help:   "file with the secret that signs notices to https contacts, or with two, which is read again when it changes",
			accept: text(&c.AlertSecretFile),
		},
		{
			key: "allow_internal_webhooks", written: &w.Email.AllowInternalWebhooks, standard: "false", kind: "bool",
			help:   "allow contacts that are https URLs at loopback, private or other internal addresses",
			accept: boolean(&c.AllowInternalWebhooks),
		},
		{
			key: "alert_retry_min", written: &w.Email.AlertRetryMin, standard: "5s", kind: "duration",
			help:   "wait before the first retry of an alert or report; doubles with each retry",
			accept: duration(&c.AlertRetryMin, 100*time.Millisecond, 24*time.Hour),
		},
		{
			key: "alert_retry_max", written: &w.Email.AlertRetryMax, standard: "1h", kind: "duration",
			help:   "longest wait before a retry of an alert or report",
			accept: duration(&c.AlertRetryMax, 100*time.Millisecond, 24*time.Hour),
		},
		{
			key: "alert_retry_for", written: &w.Email.AlertRetryFor, standard: "3d", kind: "duration",
			help:   "how long an alert or report is retried after its first failure, before it becomes a dead letter",
			accept: duration(&c.AlertRetryFor, time.Second, 30*24*time.Hour),
		},
	}
}

// EmailTarget returns EmailURL, or LogTarget if that is empty and the store is the embedded
// one. It is empty if notices to e-mail addresses have to wait.
func (c Config) EmailTarget() string {
	if c.EmailURL == "" && c.RedisURL == "" {
		return LogTarget
	}
	return c.EmailURL
}

func emailURL(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if s != LogTarget {
			u, err := url.Parse(s)
			if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
				return takes("log:, or an smtp or smtps URL with a host such as smtp://mail.example.com:587")
			}
		}
		*into = s
		return nil
	}
}

func secretText(into *Secret) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		*into = Secret(s)
		return nil
	}
}

// redactURL returns scheme and host of a URL.
func redactURL(s string) string {
	if s == "" {
		return s
	}
	return notifier.RedactURL(s)
}
