package serve

import (
	"io"
	"log/slog"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
)

// newLogger writes to w in the format and from the level of the settings.
func newLogger(w io.Writer, c config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: spellDuration}
	if logsText(w, c) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
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
