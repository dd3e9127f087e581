package backend_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// server is a store that answers a ping with err. Other commands panic.
type server struct {
	redis.Cmdable

	err   atomic.Pointer[error]
	pings atomic.Int64
}

// answers sets the error that the store answers with; nil for none.
func (s *server) answers(err error) { s.err.Store(&err) }

func (s *server) Ping(ctx context.Context) *redis.StatusCmd {
	s.pings.Add(1)
	cmd := redis.NewStatusCmd(ctx)
	if err := s.err.Load(); err != nil {
		cmd.SetErr(*err)
	}
	return cmd
}

var (
	errRefused = errors.New("connection refused")
	errReading = fmt.Errorf("reading: %w", &fault.UnavailableError{Detail: "no Redis at 127.0.0.1:1", Err: errRefused})
)

func watched(level slog.Level) (*server, *backend.OutageWatch, *output.Buffer) {
	log, store := new(output.Buffer), &server{}
	return store, backend.NewOutageWatch(store, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))), log
}

func TestAnOutageIsLoggedOnceWithItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, watch, log := watched(slog.LevelInfo)
		stop := watch.Follow(t.Context())
		logger := watch.Logger().With("part", "relay").WithGroup("its")
		for n := 1; n <= 2; n++ {
			store.answers(errRefused)
			for range 30 {
				logger.WarnContext(t.Context(), "could not look", "error", errReading)
				time.Sleep(time.Second)
			}
			require.Equal(t, 2*n-1, strings.Count(log.String(), "\n"), log)
			store.answers(nil)
			time.Sleep(backend.AskEvery)
			synctest.Wait()
			require.Equal(t, n, strings.Count(log.String(), `level=WARN msg="Redis does not answer" error="connection refused"`))
			require.Equal(t, n, strings.Count(log.String(), `level=INFO msg="Redis is back" after=`))
		}
		stop()
		asked := store.pings.Load()
		time.Sleep(time.Hour)
		require.Equal(t, asked, store.pings.Load())
	})
}

// What the store has nothing to do with is limited only.
func TestOtherWarningsAreLoggedInAnOutage(t *testing.T) {
	t.Parallel()
	store, watch, log := watched(slog.LevelInfo)
	store.answers(errRefused)
	logger := watch.Logger()
	for range 3 {
		logger.WarnContext(t.Context(), "could not look", "error", errReading)
		logger.WarnContext(t.Context(), "a delivery failed", "error", errors.New("status 500"))
		logger.InfoContext(t.Context(), "stopping", "error", errReading)
	}
	require.Zero(t, strings.Count(log.String(), "could not look"))
	require.Equal(t, 1, strings.Count(log.String(), "a delivery failed"))
	require.Equal(t, 3, strings.Count(log.String(), "stopping"))
	require.EqualValues(t, 1, store.pings.Load())
}

func TestTheRestOfAnOutageIsThereAtDebugLevel(t *testing.T) {
	t.Parallel()
	store, watch, log := watched(slog.LevelDebug)
	store.answers(errRefused)
	watch.Logger().WarnContext(t.Context(), "could not look", "error", errReading)
	require.Contains(t, log.String(), `level=DEBUG msg="could not look" error="reading: no Redis`)
}

// Nobody follows: the next warning notices that the store answers.
func TestTheEndOfAnOutageIsNoticedByAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, watch, log := watched(slog.LevelInfo)
		store.answers(errRefused)
		watch.Logger().WarnContext(t.Context(), "could not look", "error", errReading)
		store.answers(nil)
		time.Sleep(backend.AskEvery)
		watch.Logger().WarnContext(t.Context(), "could not look", "error", errReading)
		require.Regexp(t, `(?s)Redis does not answer.*Redis is back" after=2s\n.*level=WARN msg="could not look"`, log.String())
	})
}

// A store that answers and refuses writes has a warning a minute, for each part.
func TestAWarningIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, watch, log := watched(slog.LevelInfo)
		for range 20 { // 100 seconds
			watch.Logger().WarnContext(t.Context(), "could not look", "error", errReading)
			watch.Logger().ErrorContext(t.Context(), "the queue failed", "error", errReading)
			time.Sleep(5 * time.Second)
		}
		require.Equal(t, 2, strings.Count(log.String(), "could not look"))
		require.Equal(t, 2, strings.Count(log.String(), "the queue failed"))
		require.NotContains(t, log.String(), "Redis does not answer")
	})
}
