package channels

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/pushtarget"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ValidPush is a config.Check of the settings of the push target.
func ValidPush(c config.Config) *fault.InvalidError {
	if c.PushTarget() == "" {
		return nil
	}
	channel, err := OpenPush(c, io.Discard)
	if err == nil {
		err = ClosePush(channel)
	}
	problem, _ := errors.AsType[*fault.InvalidError](err)
	return problem
}

// OpenPush returns the channel to the push target. The target "log:" writes lines to
// log. If a setting is wrong, the error is a *fault.InvalidError.
func OpenPush(c config.Config, log io.Writer) (notifier.Notifier, error) {
	channel, err := pushtarget.Open(c.PushTarget(), pushtarget.Options{
		Log: log, Now: time.Now, Secret: string(c.PushSecret), Timeout: c.PushTimeout,
		Headers: string(c.PushHeaders), Proxy: c.PushProxy, UserAgent: cli.UserAgent(),
	})
	if problem, ok := errors.AsType[*notifier.InvalidError](err); ok {
		return nil, &fault.InvalidError{Field: problem.Field, Value: problem.Value, Want: problem.Want}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the push target: %w", err)
	}
	return channel, nil
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
