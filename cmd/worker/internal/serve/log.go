package serve

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/lmittmann/tint"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
)

// newLogger writes to w in the format and from the level of the settings: in columns and with the
// palette's colours on a terminal. Hints use names.
func newLogger(w io.Writer, palette cli.Palette, names cli.Names, c config.Config) *slog.Logger {
	if logsText(w, c) && cli.IsTerminal(w) {
		return newTerminalLogger(w, palette, names, c)
	}
	options := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: spell(names)}
	if logsText(w, c) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func newTerminalLogger(w io.Writer, palette cli.Palette, names cli.Names, c config.Config) *slog.Logger {
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level: c.LogLevel, ReplaceAttr: spell(names), TimeFormat: "15:04:05.000", NoColor: !palette.Colours(),
	}))
}

// spell returns a function that formats durations in JSON as in text, "30s" instead of nanoseconds,
// and spells the programs' names in texts.
func spell(names cli.Names) func([]string, slog.Attr) slog.Attr {
	return func(_ []string, a slog.Attr) slog.Attr {
		switch a.Value.Kind() { //nolint:exhaustive // the others stay
		case slog.KindDuration:
			a.Value = slog.StringValue(a.Value.Duration().String())
		case slog.KindString:
			a.Value = slog.StringValue(names.Spell(a.Value.String()))
		}
		return a
	}
}

// logsText reports whether the log is for a person.
func logsText(w io.Writer, c config.Config) bool {
	return c.LogFormat == config.LogText || c.LogFormat == config.LogAuto && cli.IsTerminal(w)
}

// logConnected logs the servers of the store, and how safe messages are there.
func logConnected(ctx context.Context, report store.Report, logger *slog.Logger) {
	for _, n := range report.Nodes {
		attributes := []any{"server", n.Address}
		if n.Version != "" {
			attributes = append(attributes, "redis_version", n.Version)
		}
		if n.Cluster {
			attributes = append(attributes, "cluster_masters", len(report.Nodes))
		}
		if n.Eviction != "" {
			attributes = append(attributes, "maxmemory_policy", n.Eviction)
		}
		if n.Replicas >= 0 {
			attributes = append(attributes, "replicas", n.Replicas)
		}
		logger.InfoContext(ctx, "connected to the store", attributes...)
	}
}

// logStart logs the start, with the store and the push target, without their secrets.
func logStart(ctx context.Context, c config.Config, logger *slog.Logger) {
	url, target := "embedded", c.PushTarget()
	if c.RedisURL != "" {
		url = config.RedactRedisURL(c.RedisURL)
	}
	switch {
	case !c.Deliver, target == "":
		target = "none"
	case target != config.LogTarget:
		target = notifier.RedactURL(target)
	}
	starting := []any{"version", cli.Version(), "redis", url, "push_target", target}
	if names := channels.Names(c); len(names) > 0 {
		starting = append(starting, "channels", strings.Join(names, ", "))
	}
	logger.InfoContext(ctx, "starting", starting...)
}
