package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// outagesWorkerEnv makes TestOutagesWorkerProcess a worker. It has the store's address and
// the provider's URL.
const outagesWorkerEnv = "SENDLIMIT_TEST_OUTAGES_WORKER"

// Times of workers and submitters. They are short, so that a story is short.
const (
	outagesTolerance    = time.Second
	outagesPushTimeout  = 1500 * time.Millisecond
	outagesSettleMargin = 2500 * time.Millisecond
	outagesLease        = outagesPushTimeout + outagesSettleMargin
	outagesShutdown     = 2 * time.Second
	outagesHorizon      = 10 * time.Second
	outagesLookAfter    = time.Second
	outagesOverdueAfter = 2 * time.Second
	outagesRelayEvery   = 500 * time.Millisecond
	outagesFirstRetry   = 200 * time.Millisecond
	outagesLastRetry    = time.Second
	outagesIOTimeout    = time.Second
)

func TestOutagesWorkerProcess(t *testing.T) {
	address, url, ok := strings.Cut(os.Getenv(outagesWorkerEnv), " ")
	if !ok {
		t.Skip("for tests that start it as a process of its own")
	}
	channel, err := webhook.New(webhook.Config{URL: url, Timeout: outagesPushTimeout, Now: time.Now})
	require.NoError(t, err)
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	registry := prometheus.NewRegistry()
	options := outagesBackend(logger)
	options.Metrics, err = metrics.New(registry)
	require.NoError(t, err)
	worker, err := tasks.NewWorker(taskstest.Open(t, outagesClient(address), options), tasks.WorkerOptions{
		Notifier:        channel,
		PushTimeout:     outagesPushTimeout,
		SettleMargin:    outagesSettleMargin,
		ShutdownTimeout: outagesShutdown,
		Tolerance:       outagesTolerance,
		Retries:         retry.Policy{Min: outagesFirstRetry, Max: outagesLastRetry, Attempts: 1000},
		RelayEvery:      outagesRelayEvery,
	})
	require.NoError(t, err)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(t.Context()), syscall.SIGTERM)
	defer stop()
	require.NoError(t, worker.Run(ctx))
	counts, err := countsIn(registry)
	require.NoError(t, err)
	text, err := json.Marshal(counts)
	require.NoError(t, err)
	_, err = fmt.Fprintf(os.Stderr, "%s%s\n", countsMark, text)
	require.NoError(t, err)
}

func outagesClient(addresses string) redis.UniversalClient {
	if all := strings.Split(addresses, ","); len(all) > 1 {
		client := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: all, PoolSize: 64, ContextTimeoutEnabled: true, DialerRetries: 1,
			DialTimeout: outagesIOTimeout, ReadTimeout: outagesIOTimeout, WriteTimeout: outagesIOTimeout,
		})
		store.WatchNodes(client)
		return client
	}
	return redis.NewClient(&redis.Options{
		Addr: addresses, PoolSize: 64, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: outagesIOTimeout, ReadTimeout: outagesIOTimeout, WriteTimeout: outagesIOTimeout,
	})
}

func outagesBackend(logger *slog.Logger) backend.Options {
	return backend.Options{Logger: logger, Horizon: outagesHorizon, LookAfter: outagesLookAfter, OverdueAfter: outagesOverdueAfter}
}

// outagesWorker is a worker that is started again whenever it has ended, as a service
// manager does, except while it is away.
type outagesWorker struct {
	environ []string

	mu    sync.Mutex
	away  bool
	lives []*workerLife
}

// workerLife is a process of a worker.
type workerLife struct {
	began   time.Time
	command *exec.Cmd
	said    output.Buffer
	asked   bool          // to end
	ended   chan struct{} // closed when the process has ended, at the time at
	at      time.Time
}

// keep starts the worker whenever it does not run, until stop is closed.
func (w *outagesWorker) keep(t *testing.T, stop <-chan struct{}) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		w.mu.Lock()
		if life := w.last(); !w.away && (life == nil || life.isOver()) {
			w.lives = append(w.lives, w.start(t))
		}
		w.mu.Unlock()
		select {
		case <-stop:
			return
		case <-poll.C:
		}
	}
}

func (w *outagesWorker) start(t *testing.T) *workerLife {
	t.Helper()
	life := &workerLife{began: time.Now(), ended: make(chan struct{})}
	life.command = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOutagesWorkerProcess$", "-test.timeout=5m")
	life.command.Env = append(os.Environ(), w.environ...)
	life.command.Stdout, life.command.Stderr = &life.said, &life.said
	if err := life.command.Start(); err != nil {
		t.Error(err)
		close(life.ended)
		return life
	}
	go func() {
		defer close(life.ended)
		_ = life.command.Wait() // its log says why it ended
		life.at = time.Now()
	}()
	return life
}

// last returns the present process, or the last one; nil if there was none.
func (w *outagesWorker) last() *workerLife {
	if len(w.lives) == 0 {
		return nil
	}
	return w.lives[len(w.lives)-1]
}

// goAway ends the worker by a signal, and keeps it from being started.
func (w *outagesWorker) goAway(by os.Signal) {
	w.mu.Lock()
	w.away = true
	life := w.last()
	w.mu.Unlock()
	if life == nil {
		return
	}
	life.asked = !life.isOver()
	_ = life.command.Process.Signal(by) // fails if it has ended
	<-life.ended
}

// comeBack lets the worker be started again.
func (w *outagesWorker) comeBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = false
}

// delivers reports whether the worker takes messages.
func (w *outagesWorker) delivers() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	life := w.last()
	return life != nil && !life.isOver() && strings.Contains(life.said.String(), `"msg":"delivering"`)
}

func (l *workerLife) isOver() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}
