package integration_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/retry"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// worldEnv makes TestWorldProcess the process that it describes.
const worldEnv = "SENDLIMIT_TEST_WORLD_PROCESS"

// worldConfig configures a worker or a caller of a world in a process of its own.
type worldConfig struct {
	Name      string
	Caller    bool
	Prefix    string
	Addresses string      // with commas between those of a cluster
	Death     *worldDeath // stays, whatever else the process is to die of; nil for none
	Provider  string      // its URL
	Horizon   time.Duration
	Places    int // a day
	Skip      bool
	Batch     bool
	HTTP      bool          // the caller asks its API
	Devices   bool          // users may have some
	Began     time.Time     // the world
	Ahead     time.Duration // of the process's clock
}

// Times of the processes. They are short, so that a world is short.
const (
	worldTolerance    = time.Second
	worldPushTimeout  = 2 * time.Second
	worldSettleMargin = 2 * time.Second
	worldLease        = worldPushTimeout + worldSettleMargin
	worldIOTimeout    = time.Second
)

// worldOrder is what a process is asked to do.
type worldOrder struct {
	Number  int
	Do      worldtest.Action
	Message message.Message
	Patch   message.Patch
	Event   worldtest.Event // of an operator
	Die     *worldDeath     // instead of all others
}

// worldDeath is where a process kills itself.
type worldDeath struct {
	Call  string   // "" for any
	Pick  uint64   // not zero: chooses Call among those that the process has made
	Later []string // calls that are only chosen if there is no other
	Nth   int      // which of these calls, from 0
	After bool     // the store has done it, and the process has not learned of it
}

// worldReply is the answer to an order.
type worldReply struct {
	Number int
	Got    message.Outcome
	Away   bool // the store can't be used, or an operator's action is to be repeated
	Full   bool // the account has as many devices as it may have
	Err    string
}

// TestWorldProcess is a worker or a caller of a world.
func TestWorldProcess(t *testing.T) {
	text := os.Getenv(worldEnv)
	if text == "" {
		t.Skip("for tests that start it as a process of its own")
	}
	var c worldConfig
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	hook := &worldHook{names: lua.NamesByHash(), made: make(map[string]bool)}
	client := worldClient(c.Addresses)
	client.AddHook(redistest.Calls(hook.onCall))
	hook.trap = c.Death
	b := taskstest.Open(t, client, backend.Options{
		Options: sendlimit.Options{Prefix: c.Prefix, Horizon: c.Horizon, PlacesPerDay: c.Places, LookAfter: time.Second, OverdueAfter: 2 * time.Second},
		Logger:  slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	b.Policies.Clock.Local = worldtest.Local(c.Ahead)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(t.Context()), syscall.SIGTERM)
	defer stop()
	if c.Caller {
		worldCaller(ctx, t, c, b, client, hook)
	} else {
		worldWorker(ctx, t, c, b, hook)
	}
}

func worldWorker(ctx context.Context, t *testing.T, c worldConfig, b *backend.Backend, hook *worldHook) {
	t.Helper()
	channel, err := webhook.New(webhook.Config{URL: c.Provider + "/" + c.Name, Timeout: worldPushTimeout, Now: time.Now})
	require.NoError(t, err)
	setups := []channels.Setup{{Name: notifier.ChannelWebhook, Notifier: channel}}
	for _, name := range []string{notifier.ChannelFCM, notifier.ChannelAPNs} {
		if c.Devices {
			setups = append(setups, channels.Setup{Name: name, HasDevices: true, Notifier: worldDevices(c.Provider + "/" + c.Name)})
		}
	}
	o := tasks.WorkerOptions{
		Channels:    setups,
		Announcer:   worldAnnouncer(c.Provider + "/mail/" + c.Name),
		PushTimeout: worldPushTimeout, SettleMargin: worldSettleMargin, ShutdownTimeout: worldPushTimeout + time.Second,
		Tolerance: worldTolerance, RelayOptions: tasks.RelayOptions{RelayEvery: 500 * time.Millisecond, SweepEvery: time.Second, PlacesEvery: 2 * time.Second},
		Retries:      retry.Policy{Min: 200 * time.Millisecond, Max: time.Second, Attempts: 1000},
		AlertRetries: retry.Span{Min: 200 * time.Millisecond, Max: time.Second, For: time.Minute},
		OnUncertain:  deliver.ResendUncertain,
	}
	if c.Skip {
		o.OnUncertain = deliver.SkipUncertain
	}
	worker, err := tasks.NewWorker(b, o)
	require.NoError(t, err)
	go func() {
		for orders := gob.NewDecoder(os.Stdin); ; {
			var next worldOrder
			if orders.Decode(&next) != nil {
				return
			}
			hook.dies(*next.Die)
		}
	}()
	require.NoError(t, worker.Run(ctx))
}

// worldDevices posts the messages of devices to a URL, each below it.
type worldDevices string

// Notify posts a notification.
func (u worldDevices) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	channel, err := webhook.New(webhook.Config{URL: string(u) + "/" + n.Device.ID, Timeout: worldPushTimeout, Now: time.Now})
	if err != nil {
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonMisaddressed, Err: err}
	}
	defer channel.Close()
	result := channel.Notify(ctx, n)
	if result.Reason == notifier.ReasonGone {
		result.Status = notifier.Gone
	}
	return result
}

// worldAnnouncer posts notices to a URL.
type worldAnnouncer string

// Announce posts a notice.
func (u worldAnnouncer) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	away := func(err error) notifier.Result {
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: err}
	}
	body, err := json.Marshal(worldtest.Mail{To: to, ID: n.ID, Kind: string(n.Kind), Percent: n.Threshold})
	if err != nil {
		return away(err)
	}
	ctx, cancel := context.WithTimeout(ctx, worldPushTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(u), bytes.NewReader(body))
	if err != nil {
		return away(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return away(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		return away(errors.Join(err, errors.New(answer.Status)))
	}
	return notifier.Result{Status: notifier.Delivered, ProviderID: "mail"}
}

// worldCaller does what it is asked to, several things at a time, until there is nothing more.
func worldCaller(ctx context.Context, t *testing.T, c worldConfig, b *backend.Backend, client redis.UniversalClient, hook *worldHook) {
	t.Helper()
	require.NoError(t, b.Listen.Load(ctx))
	s, err := submit.New(b, submit.Options{Batch: c.Batch})
	require.NoError(t, err)
	ask := func(ctx context.Context, o worldOrder) (message.Outcome, error) { return o.carryOut(ctx, s) }
	if c.HTTP {
		ask = newWorldAPI(t, b, s).carryOut
	}
	operator := worldtest.Operator{Backend: b, Client: client, Submitter: s, Began: c.Began}
	var mu sync.Mutex
	replies := gob.NewEncoder(os.Stdout)
	b.Logger.Info("delivering") // as a worker says
	var working sync.WaitGroup
	for orders := gob.NewDecoder(os.Stdin); ; {
		var next worldOrder
		if err := orders.Decode(&next); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Error(err)
			break
		}
		if next.Die != nil {
			hook.dies(*next.Die)
			continue
		}
		working.Go(func() {
			reply := next.reply(ctx, ask)
			if next.Event.Do != "" {
				reply = next.operate(ctx, operator)
			}
			mu.Lock()
			defer mu.Unlock()
			if err := replies.Encode(reply); err != nil {
				t.Error(err)
			}
		})
	}
	working.Wait()
	require.NoError(t, s.Close())
}

func (o worldOrder) reply(ctx context.Context, ask func(context.Context, worldOrder) (message.Outcome, error)) worldReply {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	got, err := ask(ctx, o)
	r := worldReply{Number: o.Number, Got: got}
	if err != nil {
		_, r.Away = errors.AsType[*fault.UnavailableError](err)
		r.Away = r.Away || errors.Is(err, context.DeadlineExceeded)
		r.Err = err.Error()
	}
	r.Got.Day = nil
	return r
}

// operate carries out an operator's action.
func (o worldOrder) operate(ctx context.Context, by worldtest.Operator) worldReply {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r := worldReply{Number: o.Number}
	if err := by.Do(ctx, o.Event); err != nil {
		_, r.Full = errors.AsType[*devices.AccountFullError](err)
		r.Away, r.Err = worldtest.MayRepeat(err), err.Error()
	}
	return r
}

func (o worldOrder) carryOut(ctx context.Context, s *submit.Submitter) (message.Outcome, error) {
	m := o.Message
	switch o.Do {
	case worldtest.Submit:
		return s.Submit(ctx, m)
	case worldtest.DryRun:
		return s.Check(ctx, m)
	case worldtest.Put:
		return s.Put(ctx, m, submit.PutIfReplaces)
	case worldtest.Cancel:
		return s.For(m.Account).Cancel(ctx, m.User, m.ID)
	default:
		return s.For(m.Account).Change(ctx, m.User, m.ID, o.Patch)
	}
}

// worldHook kills its process at one of its calls of the store.
type worldHook struct {
	names map[string]string // of scripts, by hash

	mu    sync.Mutex
	made  map[string]bool // calls
	death *worldDeath     // nil for none
	trap  *worldDeath     // another one
}

func (h *worldHook) dies(at worldDeath) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Sorted(maps.Keys(h.made))
	if at.Pick%3 > 0 { // mostly scripts of the product
		all = slices.DeleteFunc(all, func(name string) bool { return !strings.Contains(name, "/") })
	}
	if fresh := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(at.Later, name) }); len(fresh) > 0 {
		all = fresh
	}
	if at.Pick > 0 && len(all) > 0 {
		at.Call = all[at.Pick%uint64(len(all))]
	}
	h.death = &at
}

// call makes a call, unless the process dies before it or after it.
func (h *worldHook) call(cmds []redis.Cmder, do func() error) error {
	name, death := h.reached(cmds)
	if death == nil {
		return do()
	}
	when := "before "
	if death.After {
		_ = do()
		when = "after "
	}
	_, _ = io.WriteString(os.Stderr, "\ndied "+when+name+"\n")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// reached notes a call, and returns its name and the point if the process dies there.
func (h *worldHook) reached(cmds []redis.Cmder) (string, *worldDeath) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, len(cmds))
	for i, cmd := range cmds {
		names[i] = h.nameOf(cmd)
		h.made[names[i]] = true
	}
	for _, death := range []*worldDeath{h.trap, h.death} {
		i := -1
		if death != nil {
			i = slices.IndexFunc(names, func(name string) bool { return death.Call == "" || death.Call == name })
		}
		if i < 0 {
			continue
		}
		if death.Nth--; death.Nth < 0 {
			return names[i], death
		}
	}
	return "", nil
}

// nameOf names a command, or the script that it calls: those of the queue by their hash.
func (h *worldHook) nameOf(cmd redis.Cmder) string {
	name := cmd.Name()
	args := cmd.Args()
	if len(args) < 2 {
		return name
	}
	first, _ := args[1].(string)
	switch {
	case h.names[first] != "":
		return h.names[first]
	case name == "evalsha":
		return name + " " + first[:min(len(first), 8)]
	default:
		return name
	}
}

func (h *worldHook) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	return h.call(cmds, func() error { return next(ctx, cmds) })
}
