package tasks_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// A receiver that fails for all messages writes one line a minute, and says how many it left out.
func TestManyFailuresAreLoggedOnceAMinute(t *testing.T) {
	tell(t, func(s *story) {
		log := new(bytes.Buffer)
		s.shared.Logger = slog.New(slog.NewJSONHandler(log, nil))
		failed := unavailable()
		failed.Err = errors.New("status 502")
		s.always(failed)
		stop := s.work(retrying(8))
		for n := range 50 {
			m := s.message(fmt.Sprint("secret-", n), 5*time.Second)
			m.User = fmt.Sprint("user-", n)
			s.accepted(m)
		}
		s.until(50 * time.Second)
		require.Equal(s, 1, strings.Count(log.String(), "a delivery failed"), log)
		stop()
		require.Equal(s, 2, strings.Count(log.String(), "a delivery failed"), log)
		require.Contains(s, log.String(), fmt.Sprintf(`"repeated":%d}`, len(s.recorder.Deliveries())-1))
		require.NotContains(s, log.String(), "secret-")
	})
}

// A worker with too many open files is at fault itself: the message has its only attempt later.
func TestTooManyOpenFilesCountNoAttempt(t *testing.T) {
	tell(t, func(s *story) {
		exhausted := notifier.Result{
			Status: notifier.SlowDown, Reason: notifier.ReasonExhausted, Pause: notifier.PauseMessage, RetryAfter: time.Second,
		}
		s.recorder.Script(exhausted, exhausted, exhausted)
		s.work(retrying(1))
		s.accepted(s.message("a", 5*time.Second))
		s.until(30 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 4)
		s.ended("alice", "a", "d")
	})
}
