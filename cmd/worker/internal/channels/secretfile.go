package channels

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/reload"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// secret is a secret in the settings or in a file. The setting for the file has its name and _file.
type secret struct {
	name string
	of   func(*config.Config) (text *config.Secret, file string)
}

func pushSecret() secret {
	return secret{"push_secret", func(c *config.Config) (*config.Secret, string) { return &c.PushSecret, c.PushSecretFile }}
}

func alertSecret() secret {
	return secret{"alert_secret", func(c *config.Config) (*config.Secret, string) { return &c.AlertSecret, c.AlertSecretFile }}
}

func smtpPassword() secret {
	return secret{"smtp_password", func(c *config.Config) (*config.Secret, string) { return &c.SMTPPassword, c.SMTPPasswordFile }}
}

func (s secret) file(c config.Config) string {
	_, file := s.of(&c)
	return file
}

// with returns the settings with the content of the secret's file, without white space at its ends:
// editors end files with a line break.
func (s secret) with(c config.Config, content []byte) config.Config {
	text, _ := s.of(&c)
	*text = config.Secret(bytes.TrimSpace(content))
	return c
}

// read returns the settings with the secret from its file, or unchanged without a file. The error
// is a *fault.InvalidError.
func (s secret) read(c config.Config) (config.Config, error) {
	if s.file(c) == "" {
		return c, nil
	}
	content, err := reload.Read(s.file(c))
	return s.with(c, content), s.explain(c, err)
}

// explain returns the settings' errors of opening a channel: a *fault.InvalidError, or several. It
// names the file of a secret that is in one.
func (s secret) explain(c config.Config, err error) error {
	if err == nil {
		return nil
	}
	file, section := s.file(c), s.name[:strings.LastIndexByte(s.name, '.')+1]
	var problems fault.InvalidErrors
	for _, wrong := range fault.All[*notifier.InvalidError](err) {
		field, _, _ := strings.Cut(wrong.Field, ".") // the rest names a part of the credentials
		problem := &fault.InvalidError{Field: section + field, Value: wrong.Value, Want: wrong.Want}
		if problem.Field == s.name && file != "" {
			problem.Field, problem.Value, problem.Want = s.name+"_file", file, "a file with "+wrong.Want
		}
		problems = append(problems, problem)
	}
	switch {
	case len(problems) > 0:
		return problems.Err()
	case file != "":
		return &fault.InvalidError{Field: s.name + "_file", Value: file, Want: "a file that this program can read (" + err.Error() + ")"}
	}
	return fmt.Errorf("opening a channel: %w", err)
}

// follow opens a channel, and opens it again when the file of its secret changes, if it has one.
// begin is that of package reload.
func follow[C, F any](
	ctx context.Context, s secret, c config.Config, logger *slog.Logger,
	begin func(context.Context, reload.Of[C]) (F, error), open func(config.Config) (C, error),
) (channel C, err error) {
	if s.file(c) == "" {
		channel, err = open(c)
		return channel, s.explain(c, err)
	}
	channel, err = as[C](begin(ctx, reload.Of[C]{
		File: s.file(c),
		Open: func(content []byte) (C, error) { return open(s.with(c, content)) },
		Reloaded: func(err error) {
			if err != nil {
				logger.ErrorContext(ctx, "could not reload a secret: the former one stays in use", "setting", s.name+"_file", "error", err)
				return
			}
			logger.InfoContext(ctx, "reloaded a secret", "setting", s.name+"_file")
		},
	}))
	return channel, s.explain(c, err)
}

// as returns a channel as one of its interfaces: nil if there is an error, and not a nil pointer in
// an interface.
func as[I, C any](channel C, err error) (I, error) {
	if err != nil {
		var none I
		return none, err
	}
	found, _ := any(channel).(I)
	return found, nil
}
