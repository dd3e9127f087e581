package channels_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestEmailIsPrintedOnTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	announcer, err := channels.OpenNotices(t.Context(), config.Config{}, time.Now, &out, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	result := announcer.Announce(t.Context(), "ops@example.com", notifiertest.Notices()["account"])
	require.Equal(t, notifier.Delivered, result.Status)
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "ops@example.com", line["to"])

	// A store worth keeping has mail wait for a server instead.
	announcer, err = channels.OpenNotices(t.Context(), config.Config{RedisURL: "redis://h"}, time.Now, &out, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	result = announcer.Announce(t.Context(), "ops@example.com", notifiertest.Notices()["account"])
	require.ErrorIs(t, result.Err, notifier.ErrNoChannel)
	require.NoError(t, announcer.Close())
}
