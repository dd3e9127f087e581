package serve

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
)

func TestTheLogOfATerminal(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	logger := newTerminalLogger(&text, cli.Palette{}, cli.Names{}, config.Config{LogLevel: slog.LevelInfo})
	logger.Debug("not shown")
	logger.Warn("the store keeps nothing", "within", 30*time.Second)
	require.Regexp(t, `^\d\d:\d\d:\d\d\.\d{3} WRN the store keeps nothing within=30s\n$`, text.String())
	text.Reset()
	logger.Warn("of a caller", "text", "a\nb\x1b[2J")
	require.True(t, strings.HasSuffix(text.String(), ` WRN of a caller text="a\nb"`+"\n"), text.String())
}

func TestTheStartNamesNoSecret(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	logger := newLogger(&text, cli.Palette{}, cli.Names{}, config.Config{LogFormat: config.LogText})
	logStart(t.Context(), config.Config{
		RedisURL: "redis://:hunter2@redis.example.com:6379", PushURL: "https://push.example.com/s3cret", Deliver: true,
	}, logger)
	require.Contains(t, text.String(), "msg=starting version="+cli.Version()+" redis=redis://:***@redis.example.com:6379 push_target=https://push.example.com/")
	require.NotContains(t, text.String(), "hunter2")
	require.NotContains(t, text.String(), "s3cret")
}
