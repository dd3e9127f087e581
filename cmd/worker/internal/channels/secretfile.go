package channels

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/reload"
)

// secretSetting is a secret that may be in a file, whose setting has its name and _file.
type secretSetting struct {
	name  string
	file  func(config.Config) string
	given func(*config.Config) *config.Secret
}

func pushSecret() secretSetting {
	return secretSetting{
		"push_secret",
		func(c config.Config) string { return c.PushSecretFile }, func(c *config.Config) *config.Secret { return &c.PushSecret },
	}
}

func alertSecret() secretSetting {
	return secretSetting{
		"alert_secret",
		func(c config.Config) string { return c.AlertSecretFile }, func(c *config.Config) *config.Secret { return &c.AlertSecret },
	}
}

func smtpPassword() secretSetting {
	return secretSetting{
		"smtp_password",
		func(c config.Config) string { return c.SMTPPasswordFile }, func(c *config.Config) *config.Secret { return &c.SMTPPassword },
	}
}

// with returns the settings with the content of the secret's file. White space around it does
// not count: editors end files with a line break.
func (s secretSetting) with(c config.Config, content []byte) config.Config {
	*s.given(&c) = config.Secret(bytes.TrimSpace(content))
	return c
}

// read returns the settings with the secret from its file, or as they are if there is none. The
// error is a *notifier.InvalidError.
func (s secretSetting) read(c config.Config) (config.Config, error) {
	file := s.file(c)
	if file == "" {
		return c, nil
	}
	content, err := reload.Read(file)
	if err != nil {
		return c, &notifier.InvalidError{Field: s.name + "_file", Value: file, Want: "a file that this program can read (" + err.Error() + ")"}
	}
	return s.with(c, content), nil
}

// explain names the file in an error about a secret that is in one. The error shows no secret.
func (s secretSetting) explain(c config.Config, err error) error {
	problem, ok := errors.AsType[*notifier.InvalidError](err)
	if !ok || s.file(c) == "" || problem.Field != s.name {
		return err
	}
	return &notifier.InvalidError{Field: s.name + "_file", Value: s.file(c), Want: "a file with " + problem.Want}
}

// told returns a function that logs what came of a changed file.
func (s secretSetting) told(ctx context.Context, logger *slog.Logger) func(error) {
	return func(err error) {
		if err != nil {
			logger.ErrorContext(ctx, "could not read a secret again: the former one stays", "setting", s.name+"_file", "error", err)
			return
		}
		logger.InfoContext(ctx, "read a secret again", "setting", s.name+"_file")
	}
}

// announcer opens a channel of notices, and opens it again when the secret's file changes.
func (s secretSetting) announcer(
	ctx context.Context, c config.Config, logger *slog.Logger, open func(config.Config) (notifier.Announcer, error),
) (notifier.Announcer, error) {
	if s.file(c) == "" {
		return open(c)
	}
	followed, err := reload.NewAnnouncer(ctx, reload.Of[notifier.Announcer]{
		File: s.file(c), Reloaded: s.told(ctx, logger),
		Open: func(content []byte) (notifier.Announcer, error) { return open(s.with(c, content)) },
	})
	if err != nil {
		return nil, s.explain(c, err)
	}
	return followed, nil
}
