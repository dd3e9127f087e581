package serve

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// lines is a log that a test reads while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func TestTheEndOfAnOutageIsLogged(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	log := &lines{}
	stop := watchStore(t.Context(), client, time.Millisecond, slog.New(slog.NewTextHandler(log, nil)))
	defer stop()
	for outage := 1; outage <= 2; outage++ {
		server.SetError("LOADING Redis is loading the dataset in memory")
		require.Eventually(t, func() bool { return log.count("Redis does not answer") == outage }, 10*time.Second, time.Millisecond)
		server.SetError("")
		require.Eventually(t, func() bool { return log.count("Redis is back") == outage }, 10*time.Second, time.Millisecond)
	}
	require.Equal(t, 2, log.count("Redis does not answer"), "once in an outage")
}
