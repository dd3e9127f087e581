package tasks_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A delivery is logged at debug level, by its id: not by its user, and without content.
func TestADeliveryIsLoggedAtDebugLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 1, slog.LevelInfo: 0} {
		t.Run(level.String(), func(t *testing.T) {
			tell(t, func(s *story) {
				log := new(bytes.Buffer)
				s.shared.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
				s.work()
				m := s.message("order-17", 5*time.Second)
				m.User, m.Title, m.Body = "wilhelmina", "Hello Wilma", "A secret"
				s.accepted(m)
				s.until(7 * time.Second)
				require.Len(s, s.recorder.Deliveries(), 1)
				require.Equal(s, want, strings.Count(log.String(), "level=DEBUG msg=delivered id=order-17 attempt=1 late="), log)
				for _, private := range []string{"wilhelmina", "Wilma", "secret"} {
					require.NotContains(s, log.String(), private)
				}
			})
		})
	}
}
