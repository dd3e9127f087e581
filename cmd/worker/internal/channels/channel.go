package channels

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/reload"
)

// ValidPush is a config.Check of the settings of the push target.
func ValidPush(c config.Config) error {
	if c.PushTarget() == "" {
		return nil
	}
	channel, err := followPush(context.Background(), c, time.Now, io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return ClosePush(channel)
}

// followPush opens the channel to the push target, and opens it again when the file of its secret
// changes. The target "log:" writes lines to log. The error contains a *fault.InvalidError for each
// wrong setting.
func followPush(ctx context.Context, c config.Config, now func() time.Time, log io.Writer, logger *slog.Logger) (notifier.Notifier, error) {
	return follow(ctx, pushSecret(), c, logger, reload.New, func(c config.Config) (notifier.Notifier, error) { return OpenTarget(c, now, log) })
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
