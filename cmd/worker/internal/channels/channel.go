package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/reload"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ValidPush is a config.Check of the settings of the push target.
func ValidPush(c config.Config) *fault.InvalidError {
	if c.PushTarget() == "" {
		return nil
	}
	channel, err := openPushOnce(c, io.Discard)
	if err == nil {
		err = ClosePush(channel)
	}
	problem, _ := errors.AsType[*fault.InvalidError](err)
	return problem
}

// openPushOnce returns the channel to the push target, with the secret as it is now. The target
// "log:" writes lines to log. If a setting is wrong, the error is a *fault.InvalidError.
func openPushOnce(c config.Config, log io.Writer) (notifier.Notifier, error) {
	c, err := pushSecret().read(c)
	if err != nil {
		return nil, explainPush(c, err)
	}
	return openPush(c, time.Now, log)
}

// followPush opens the channel to the push target as openPushOnce does, and opens it again when the
// file of its secret changes.
func followPush(ctx context.Context, c config.Config, now func() time.Time, log io.Writer, logger *slog.Logger) (notifier.Notifier, error) {
	secret := pushSecret()
	if secret.file(c) == "" {
		return openPush(c, now, log)
	}
	followed, err := reload.New(ctx, reload.Options{
		File: secret.file(c), Reloaded: secret.told(ctx, logger),
		Open: func(content []byte) (notifier.Notifier, error) { return openPush(secret.with(c, content), now, log) },
	})
	if err != nil {
		return nil, explainPush(c, err)
	}
	return followed, nil
}

func openPush(c config.Config, now func() time.Time, log io.Writer) (notifier.Notifier, error) {
	channel, err := OpenTarget(c.PushTarget(), TargetOptions{
		Log: log, Now: now, Secret: string(c.PushSecret), Timeout: c.PushTimeout,
		Headers: string(c.PushHeaders), Proxy: c.PushProxy, UserAgent: cli.UserAgent(),
	})
	if err != nil {
		return nil, explainPush(c, err)
	}
	return channel, nil
}

// explainPush returns an error of opening the push target as a *fault.InvalidError if it is about
// a setting.
func explainPush(c config.Config, err error) error {
	if problem, ok := errors.AsType[*notifier.InvalidError](pushSecret().explain(c, err)); ok {
		return &fault.InvalidError{Field: problem.Field, Value: problem.Value, Want: problem.Want}
	}
	return fmt.Errorf("opening the push target: %w", err)
}

// ClosePush closes the channel's connections, if it has any.
func ClosePush(channel notifier.Notifier) error {
	if closer, ok := channel.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			return fmt.Errorf("closing the push target: %w", err)
		}
	}
	return nil
}

// TargetName returns the name of the channel of a push target.
func TargetName(target string) string {
	scheme, _, _ := strings.Cut(target, ":")
	switch strings.ToLower(scheme) {
	case "log":
		return notifier.ChannelLog
	case "http", "https":
		return notifier.ChannelWebhook
	default:
		return notifier.ChannelService
	}
}
