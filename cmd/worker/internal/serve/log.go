package serve

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/lmittmann/tint"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
)

// newLogger writes to w in the format and from the level of the settings: in columns and
// with the colours of the palette on a terminal.
func newLogger(w io.Writer, palette cli.Palette, c config.Config) *slog.Logger {
	if logsText(w, c) && cli.IsTerminal(w) {
		return newTerminalLogger(w, palette, c)
	}
	options := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: spellDuration}
	if logsText(w, c) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func newTerminalLogger(w io.Writer, palette cli.Palette, c config.Config) *slog.Logger {
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level: c.LogLevel, ReplaceAttr: spellDuration, TimeFormat: "15:04:05.000", NoColor: !palette.Colours(),
	}))
}

// spellDuration formats durations in JSON as in text, "30s"; slog would write nanoseconds.
func spellDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// logsText reports whether the log is for a person.
func logsText(w io.Writer, c config.Config) bool {
	return c.LogFormat == config.LogText || c.LogFormat == config.LogAuto && cli.IsTerminal(w)
}

// logStart logs what starts: with the store and the push target, without their secrets.
func logStart(ctx context.Context, c config.Config, logger *slog.Logger) {
	store, target := "embedded", c.PushTarget()
	if c.RedisURL != "" {
		store = config.RedactRedisURL(c.RedisURL)
	}
	switch {
	case !c.Deliver, target == "":
		target = "none"
	case target != config.LogTarget:
		target = notifier.RedactURL(target)
	}
	starting := []any{"version", cli.Version(), "redis", store, "push_target", target}
	if names := channels.Names(c); len(names) > 0 {
		starting = append(starting, "channels", strings.Join(names, ", "))
	}
	logger.InfoContext(ctx, "starting", starting...)
}
