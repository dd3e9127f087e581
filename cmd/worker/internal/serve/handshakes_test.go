package serve

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailedHandshakesAreToldOnceAMinute(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Unix(1, 0)
	logger := slog.NewLogLogger(&handshakes{Handler: slog.NewTextHandler(&out, nil), now: func() time.Time { return now }}, slog.LevelWarn)
	const failed = "http: TLS handshake error from 203.0.113.5:1: EOF"
	for range 100 {
		logger.Print(failed)
	}
	require.Equal(t, 1, strings.Count(out.String(), "handshake"))
	logger.Print("http: something else")
	require.Contains(t, out.String(), "level=WARN msg=\"http: something else\"")
	now = now.Add(time.Minute)
	logger.Print(failed)
	require.Contains(t, out.String(), "others_before=99")
}
