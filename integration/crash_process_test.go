package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/email"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// crashEnv makes TestCrashProcess the process that it describes.
const crashEnv = "SENDLIMIT_TEST_CRASH"

// crashConfig configures a submitter or worker in a separate process.
type crashConfig struct {
	Name      string      `json:"name"` // "worker 2"
	Point     crashPoint  `json:"point,omitzero"`
	Addresses string      `json:"addresses"` // with commas between those of a cluster
	Prefix    string      `json:"prefix"`
	Scripts   scriptNames `json:"scripts"`
	Journal   string      `json:"journal"`
	Plan      string      `json:"plan,omitempty"` // for a submitter: the file of the plan
	Batch     bool        `json:"batch,omitempty"`
	Campaign  string      `json:"campaign,omitempty"` // for a program that moves it
	Receiver  string      `json:"receiver,omitempty"` // for a worker: the provider's URL
	Mails     string      `json:"mails,omitempty"`    // for a worker: the mail server's URL
	Skip      bool        `json:"skip,omitempty"`
	// Tolerance of a worker: up to here nothing is late.
	Tolerance time.Duration `json:"tolerance,omitempty"`
}

// Times of the processes. They are short, so that a round is short.
const (
	crashPushTimeout  = 400 * time.Millisecond
	crashSettleMargin = 400 * time.Millisecond
	crashHorizon      = 1500 * time.Millisecond
	crashLookAfter    = 300 * time.Millisecond
	crashOverdueAfter = 400 * time.Millisecond
	crashRelayEvery   = 250 * time.Millisecond
	crashAttempts     = 6
)

// crashProcess is a process that runs, or has ended.
type crashProcess struct {
	config crashConfig
	cmd    *exec.Cmd
	said   bytes.Buffer
	ended  chan struct{}
}

func startCrashProcess(t *testing.T, config crashConfig) *crashProcess {
	t.Helper()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	p := &crashProcess{config: config, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashProcess$", "-test.timeout=5m")
	p.cmd.Env = append(os.Environ(), crashEnv+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its status is in the process's state
	}()
	return p
}

func (p *crashProcess) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// killed reports whether a process that has ended was killed. If not, it requires that
// the process ended well.
func (p *crashProcess) killed(t *testing.T) bool {
	t.Helper()
	if p.endedBy(syscall.SIGKILL) {
		return true
	}
	require.True(t, p.endedWell(), "%s: %s\n%s", p.config.Name, p.cmd.ProcessState, &p.said)
	return false
}

// endedWell reports whether a process ended by itself and without an error. A process
// that is told to stop before it listens for that ends by the signal.
func (p *crashProcess) endedWell() bool {
	return p.cmd.ProcessState.Success() || p.endedBy(syscall.SIGTERM)
}

func (p *crashProcess) endedBy(signal syscall.Signal) bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == signal
}

// TestCrashProcess is a process of the tests of crashes.
func TestCrashProcess(t *testing.T) {
	text := os.Getenv(crashEnv)
	if text == "" {
		t.Skip("is run in processes of its own by other tests")
	}
	var config crashConfig
	require.NoError(t, json.Unmarshal([]byte(text), &config))
	before := readJournal(t, config.Journal)
	journal, err := openJournal(config.Journal, config.Name)
	require.NoError(t, err)
	hook := newCrashHook(config.Scripts, config.Prefix, config.Point, journal)
	client := crashServer{addresses: config.Addresses}.connect(hook)
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	switch {
	case config.Campaign != "":
		crashMover(ctx, t, config, client, journal)
		return
	case config.Plan == "":
		crashWorker(ctx, t, config, client, hook)
		return
	}
	plan, err := os.ReadFile(config.Plan)
	require.NoError(t, err)
	var steps crashPlan
	require.NoError(t, json.Unmarshal(plan, &steps))
	b := taskstest.Open(t, client, crashBackend(config.Prefix))
	require.NoError(t, b.Listen.Load(ctx))
	submitter, err := submit.New(b, submit.Options{
		Batch: config.Batch,
	})
	require.NoError(t, err)
	newCrashSubmitter(submitter, journal, before).run(ctx, steps)
	require.NoError(t, submitter.Close())
}

func crashBackend(prefix string) backend.Options {
	return backend.Options{
		Prefix: prefix, Logger: crashLog(),
		Horizon: crashHorizon, LookAfter: crashLookAfter, OverdueAfter: crashOverdueAfter,
	}
}

func crashWorker(ctx context.Context, t *testing.T, config crashConfig, client redis.UniversalClient, hook *crashHook) {
	t.Helper()
	channel, err := webhook.New(webhook.Config{URL: config.Receiver, Timeout: crashPushTimeout, Now: time.Now})
	require.NoError(t, err)
	mails, err := email.Open(email.Options{URL: config.Mails, From: crashSender, Now: time.Now})
	require.NoError(t, err)
	onUncertain := deliver.ResendUncertain
	if config.Skip {
		onUncertain = deliver.SkipUncertain
	}
	worker, err := tasks.NewWorker(taskstest.Open(t, client, crashBackend(config.Prefix)), tasks.WorkerOptions{
		Notifier:        crashNotifier{hook, channel},
		Announcer:       crashAnnouncer{hook, mails},
		Callbacks:       newCrashPoster(t, hook),
		EventsRate:      100,
		PushTimeout:     crashPushTimeout,
		SettleMargin:    crashSettleMargin,
		ShutdownTimeout: 2 * time.Second,
		Retries:         retry.Policy{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond, Attempts: crashAttempts},
		AlertRetries:    retry.Span{Min: 50 * time.Millisecond, Max: 200 * time.Millisecond, For: time.Minute},
		Tolerance:       config.Tolerance,
		OnUncertain:     onUncertain,
		RelayEvery:      crashRelayEvery,
	})
	require.NoError(t, err)
	require.NoError(t, worker.Run(ctx))
}

func crashLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
