package logline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// broken fails every write; endless never ends one before the test does.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

type endless struct{ over <-chan struct{} }

func (e endless) Write(p []byte) (int, error) {
	<-e.over
	return len(p), nil
}

func TestAnnouncerConformance(t *testing.T) {
	t.Parallel()
	notifiertest.RunAnnouncer(t, notifiertest.AnnouncerSuite{
		New: func(t *testing.T) (notifier.Announcer, string) {
			t.Helper()
			lines, err := logline.New(new(bytes.Buffer), time.Now)
			require.NoError(t, err)
			return lines, "ops@example.com"
		},
		Failing: func(t *testing.T) (notifier.Announcer, string) {
			t.Helper()
			lines, err := logline.New(broken{}, time.Now)
			require.NoError(t, err)
			return lines, "ops@example.com"
		},
		Stuck: func(t *testing.T) (notifier.Announcer, string) {
			t.Helper()
			lines, err := logline.New(endless{t.Context().Done()}, time.Now)
			require.NoError(t, err)
			return lines, "ops@example.com"
		},
		Secrets: []string{"ops@example.com"},
	})
}

func TestALineForANotice(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	lines, err := logline.New(&text, func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) })
	require.NoError(t, err)
	n := notifiertest.Notices()["account"]
	require.Equal(t, notifier.Delivered, lines.Announce(t.Context(), "ops@example.com", n).Status)
	want, err := json.Marshal(n)
	require.NoError(t, err)
	require.JSONEq(t, `{"to":"ops@example.com","notice":`+string(want)+`,"delivered_at":"2026-11-22T12:00:00.000Z"}`, text.String())
	require.Equal(t, 1, bytes.Count(text.Bytes(), []byte("\n")))
}
