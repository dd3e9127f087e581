package overview_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a backend with a reader of its overview.
type rig struct {
	*testing.T

	store     *miniredis.Miniredis
	client    *redis.Client
	backend   *backend.Backend
	submitter *submit.Submitter
	reader    *overview.Reader
	now       time.Time
	away      outage
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, now: time.Date(2026, 11, 21, 10, 0, 30, 0, time.UTC)}
	r.store, r.client = redistest.Embedded(t)
	r.client.AddHook(redistest.Calls(r.away.onCall))
	r.store.SetTime(r.now)
	policies := settings.NewPolicies(r.client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	r.backend = taskstest.Open(t, r.client, backend.Options{})
	var err error
	r.submitter, err = submit.New(r.backend, submit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.submitter.Close()) })
	r.reader, err = overview.New(r.backend)
	require.NoError(t, err)
	return r
}

// outage is a client hook that counts commands, and fails those that contain a text.
type outage struct {
	of       atomic.Pointer[string]
	commands atomic.Int64
}

func (o *outage) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	for _, cmd := range cmds {
		if err := o.failure(cmd); err != nil {
			for _, one := range cmds {
				one.SetErr(err)
			}
			return err
		}
	}
	return next(ctx, cmds)
}

// away is the error of what fails.
type away struct{}

func (away) Error() string   { return "i/o timeout" }
func (away) Timeout() bool   { return true }
func (away) Temporary() bool { return true }

func (o *outage) failure(cmd redis.Cmder) error {
	o.commands.Add(1)
	if of := o.of.Load(); of != nil && strings.Contains(fmt.Sprint(cmd.Args()...), *of) {
		return away{}
	}
	return nil
}

// fails has what contains a text fail; "" ends that.
func (r *rig) fails(of string) {
	if of == "" {
		r.away.of.Store(nil)
		return
	}
	r.away.of.Store(&of)
}

// passes moves both clocks.
func (r *rig) passes(d time.Duration) {
	r.now = r.now.Add(d)
	r.store.SetTime(r.now)
}

func (r *rig) read() *overview.Overview {
	r.Helper()
	o, err := r.reader.Read(r.Context(), r.now)
	require.NoError(r, err)
	return o
}

// submits submits a message to a user that is due after a while, and writes what became of it.
func (r *rig) submits(user, id string, after time.Duration) message.Outcome {
	r.Helper()
	outcome, err := r.submitter.Submit(r.Context(), message.Message{User: user, ID: id, Title: "Hi", SendAt: r.now.Add(after)})
	require.NoError(r, err)
	r.backend.FlushActivity()
	return outcome
}

// accepted counts an accepted message.
func (r *rig) accepted() {
	r.backend.Activity.Accepted("", r.now)
	r.backend.FlushActivity()
}

// givesUp has a message given up.
func (r *rig) givesUp(user, id string) {
	r.Helper()
	gate, err := messages.NewGate(r.client, sendlimit.Options{Records: true})
	require.NoError(r, err)
	d := messages.Delivery{User: user, ID: id, Nonce: keyspace.NewToken()}
	for _, key := range r.store.Keys() {
		if strings.HasSuffix(key, ":m:"+user+":"+id) {
			d.Generation = r.store.HGet(key, "g")
		}
	}
	_, err = gate.Claim(r.Context(), d, time.Minute, time.Time{})
	require.NoError(r, err)
	settled, err := gate.Settle(r.Context(), d, messages.Settlement{Outcome: messages.Failed, Reason: "gone"}, time.Time{})
	require.NoError(r, err)
	require.True(r, settled)
}

func TestAnOverviewOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.read()
	require.NoError(t, o.Failed)
	require.Equal(t, r.now, o.At)
	require.Len(t, o.Minutes, 60)
	require.Equal(t, r.now.Truncate(time.Minute), o.Minutes[59].Start, "the present one last")
	require.Equal(t, r.now.Truncate(time.Minute).Add(-59*time.Minute), o.Minutes[0].Start)
	require.Zero(t, o.LastHour.Accepted)
	require.Zero(t, o.Forecast.Pending)
	require.Zero(t, o.DeadLetters+o.FailedAlerts+len(o.Workers)+len(o.Channels))
	require.Zero(t, o.Behind)
	require.Empty(t, o.Pace.Rate)
	require.Positive(t, o.Horizon)
	require.Eventually(t, func() bool {
		latest, counted, err := r.backend.Forecasts.Latest(t.Context())
		return err == nil && counted && latest.At.Equal(r.now)
	}, 10*time.Second, 10*time.Millisecond, "it is counted since somebody looks")
}

func TestAnOverviewSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.True(t, r.submits("alice", "a", 0).OK())
	require.False(t, r.submits("alice", "b", 0).OK())
	require.False(t, r.submits("alice", "c", 0).OK())
	require.True(t, r.submits("bob", "d", 2*time.Hour).OK())
	r.givesUp("alice", "a")
	paces, err := rate.NewPaces(r.client, keyspace.KeysUnder(""), deliver.PaceTarget)
	require.NoError(t, err)
	limit, err := rate.Parse("100/second")
	require.NoError(t, err)
	require.NoError(t, paces.Apply(t.Context(), rate.Pace{Rate: limit, Burst: 7}))
	until, err := paces.Pause(t.Context(), time.Minute)
	require.NoError(t, err)
	states := channels.NewStore(r.client, keyspace.KeysUnder(""))
	_, err = states.Stop(t.Context(), "fcm", channels.Stop{Reason: channels.Unauthorized, Detail: "401"})
	require.NoError(t, err)

	_, err = r.backend.Forecasts.Keep(t.Context(), r.now)
	require.NoError(t, err)
	o := r.read()
	require.NoError(t, o.Failed)
	require.Equal(t, int64(2), o.LastHour.Accepted)
	require.Equal(t, map[string]int64{"1/minute": 2}, o.LastHour.Refused)
	require.Equal(t, int64(2), o.Minutes[59].Accepted)
	require.Equal(t, 1, o.DeadLetters)
	require.Equal(t, 1, o.Forecast.Pending)
	require.Equal(t, overview.Pace{Rate: "100/second", Burst: 7, PausedUntil: until}, o.Pace)
	require.Len(t, o.Channels, 1)
	require.Equal(t, overview.Channel{Name: "fcm", Stopped: true, Reason: string(channels.Unauthorized), Detail: "401", Since: r.now}, o.Channels[0])

	was, err := states.Resume(t.Context(), "fcm")
	require.NoError(t, err)
	require.True(t, was)
	was, err = states.Resume(t.Context(), "fcm")
	require.NoError(t, err)
	require.False(t, was)
	r.passes(3 * time.Second)
	for _, c := range r.read().Channels {
		require.False(t, c.Stopped)
	}
}

// An hour later, all of it is past; minutes that are over are not read again.
func TestMinutesPass(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.accepted()
	for range 58 {
		r.passes(time.Minute)
		require.Equal(t, int64(1), r.read().LastHour.Accepted)
		require.Len(t, r.read().Minutes, 60)
	}
	r.accepted()
	r.passes(time.Second)
	require.Equal(t, int64(2), r.read().LastHour.Accepted)
	r.passes(2 * time.Minute)
	o := r.read()
	require.Equal(t, int64(1), o.LastHour.Accepted)
	for i := 1; i < len(o.Minutes); i++ {
		require.Equal(t, time.Minute, o.Minutes[i].Start.Sub(o.Minutes[i-1].Start))
	}
	r.passes(3 * time.Hour)
	require.Zero(t, r.read().LastHour.Accepted)
	require.Len(t, r.read().Minutes, 60)

	r.passes(-time.Hour) // a clock that is set right
	o = r.read()
	require.Len(t, o.Minutes, 60)
	require.Equal(t, r.now.Truncate(time.Minute), o.Minutes[59].Start)
}

func TestAnOverviewIsReadOnceASecond(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.read()
	before := r.away.commands.Load()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			o, err := r.reader.Read(t.Context(), r.now.Add(999*time.Millisecond))
			require.NoError(t, err)
			require.Same(t, first, o)
		})
	}
	all.Wait()
	require.Equal(t, before, r.away.commands.Load())

	r.passes(time.Second)
	for range 20 {
		all.Go(func() {
			_, err := r.reader.Read(t.Context(), r.now)
			require.NoError(t, err)
		})
	}
	all.Wait()
	small := r.away.commands.Load() - before
	require.LessOrEqual(t, small, int64(5), "only the present minutes, once")
	require.NotSame(t, first, r.read())
	require.Equal(t, int64(0), first.LastHour.Accepted, "what is handed out does not change")
}

// What can't be read is as it was, and Failed says so.
func TestPartsThatCantBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.True(t, r.submits("alice", "a", 0).OK())
	r.givesUp("alice", "a")
	states := channels.NewStore(r.client, keyspace.KeysUnder(""))
	_, err := states.Stop(t.Context(), "fcm", channels.Stop{Reason: channels.Brake})
	require.NoError(t, err)
	was := r.read()
	require.Equal(t, 1, was.DeadLetters)
	require.Len(t, was.Channels, 1)

	for part, of := range map[string]string{"dead letters": ":dead", "channels": ":stopped", "memory": "memory", "forecast": ":forecast", "behind": ":watch"} {
		r.passes(20 * time.Second)
		before := r.away.commands.Load()
		r.fails(of)
		o := r.read()
		r.fails("")
		require.Greater(t, r.away.commands.Load(), before)
		require.Error(t, o.Failed, part)
		require.Equal(t, 1, o.DeadLetters, part)
		require.Len(t, o.Channels, 1, part)
		require.Equal(t, r.now, o.At)
		require.Equal(t, int64(1), o.LastHour.Accepted)
		r.passes(20 * time.Second)
		require.NoError(t, r.read().Failed, part)
	}
}

// Without the counts of the present minute there is no overview.
func TestWithoutTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, of := range []string{"time", "{activity}"} {
		r.fails(of)
		_, err := r.reader.Read(t.Context(), r.now)
		var unavailable *fault.UnavailableError
		require.ErrorAs(t, err, &unavailable, of)
		r.fails("")
		r.read()
		r.passes(time.Second)
	}
}

func TestDaysOfAnAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	store := accounts.New(r.client, keyspace.KeysUnder(""))
	for name, zone := range map[string]string{"utc": "", "tokyo": "Asia/Tokyo", "berlin": "Europe/Berlin"} {
		own, err := store.Create(t.Context(), accounts.Account{Name: name, TimeZone: zone})
		require.NoError(t, err)
		location, err := own.Location()
		require.NoError(t, err)
		now := time.Date(2026, 10, 27, 23, 30, 0, 0, time.UTC) // the clocks of Berlin changed on the 25th
		days, err := r.reader.Days(t.Context(), own, now)
		require.NoError(t, err)
		require.Len(t, days, 7)
		first := now.In(location)
		for i, day := range days {
			require.Equal(t, time.Date(first.Year(), first.Month(), first.Day()-i, 0, 0, 0, 0, location), day.Start, "%s %d", name, i)
			require.Zero(t, day.Accepted)
		}
	}
	r.fails("{activity}:d:")
	_, err := r.reader.Days(t.Context(), accounts.Account{Name: "utc"}, r.now)
	require.Error(t, err)
}
