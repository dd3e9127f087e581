package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

// phones is a story with two channels that have devices.
type phones struct {
	*story

	fcm, apns *phone
	devices   *devices.Store
	states    *channels.Store
}

// phone is a channel whose provider answers what it is told to. It can be probed.
type phone struct {
	*notifiertest.Recorder

	probes atomic.Int32
	broken atomic.Bool // it refuses the credentials
}

func (p *phone) Probe(context.Context) notifier.Result {
	p.probes.Add(1)
	if p.broken.Load() {
		return refused()
	}
	return notifier.Result{Status: notifier.Delivered}
}

func (p *phone) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	result := p.Recorder.Notify(ctx, n)
	if p.broken.Load() {
		return refused()
	}
	return result
}

func refused() notifier.Result {
	return notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: errors.New("HTTP status 403")}
}

func knowsNoMore() notifier.Result {
	return notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonGone}
}

// tellOfPhones tells a story whose worker has the channels fcm and apns, and no limits that
// matter.
func tellOfPhones(t *testing.T, told func(*phones), options ...func(*tasks.WorkerOptions)) {
	t.Helper()
	tellSlowly(t, func(s *story) {
		p := newPhones(s)
		s.work(append(options, retrying(3), p.use)...)
		told(p)
	}, "1000/hour")
}

func newPhones(s *story) *phones {
	s.Helper()
	p := &phones{
		story: s, fcm: &phone{Recorder: notifiertest.NewRecorder(time.Now)},
		apns: &phone{Recorder: notifiertest.NewRecorder(time.Now)},
	}
	p.devices = devices.New(s.client, keyspace.KeysUnder(""), devices.Options{})
	p.states = channels.NewStore(s.client, keyspace.KeysUnder(""))
	return p
}

// use gives a worker the channels, and no other.
func (p *phones) use(o *tasks.WorkerOptions) {
	o.Notifier, o.Channels = nil, []channels.Setup{
		{Name: notifier.ChannelFCM, Notifier: p.fcm, HasDevices: true},
		{Name: notifier.ChannelAPNs, Notifier: p.apns, HasDevices: true},
	}
}

// has registers a device of a user: its id begins with f for fcm, with a for apns.
func (p *phones) has(user, id string) {
	p.Helper()
	d := devices.Device{ID: id, Channel: notifier.ChannelFCM, Address: "token-of-" + user + "-" + id}
	if id[0] == 'a' {
		d.Channel, d.Address = notifier.ChannelAPNs, fmt.Sprintf("%064x", id+user)
		d.Address = d.Address[:64]
	}
	_, err := p.devices.Add(p.Context(), user, d, 0)
	require.NoError(p, err)
}

// of returns the devices of a user.
func (p *phones) of(user string) []devices.Device {
	p.Helper()
	list, err := p.devices.List(p.Context(), user)
	require.NoError(p, err)
	return list
}

// stateOfFCM returns the stored state of the channel fcm.
func (p *phones) stateOfFCM() channels.State {
	p.Helper()
	all, err := p.states.Load(p.Context())
	require.NoError(p, err)
	for _, state := range all {
		if state.Name == notifier.ChannelFCM {
			return state
		}
	}
	return channels.State{Name: notifier.ChannelFCM}
}

// to is a message to a user.
func (p *phones) to(user, id string, after time.Duration) message.Message {
	m := p.message(id, after)
	m.User = user
	return m
}

// got returns which devices a channel delivered to, in order: "id device +time".
func (p *phones) got(from *phone) []string {
	got := []string{}
	for _, d := range from.Deliveries() {
		got = append(got, fmt.Sprintf("%s %s +%s", d.Notification.ID, d.Notification.Device.ID, d.At.Sub(p.began).Truncate(time.Second)))
	}
	return got
}

// What one device did not get is tried again there, and nowhere else.
func TestPartlyDeliveredIsTriedAgainForTheRest(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.has("alice", "f1")
		p.has("alice", "f2")
		p.has("alice", "a1")
		p.apns.Script(unavailable())
		p.accepted(p.message("m", 5*time.Second))
		p.until(5500 * time.Millisecond)
		require.Len(p, p.fcm.Deliveries(), 2)
		require.Len(p, p.apns.Deliveries(), 1)
		require.Equal(p, "df1 df2", p.record("alice", "m")["D"])
		require.Equal(p, "1", p.record("alice", "m")["n"])
		p.until(20 * time.Second)
		require.Len(p, p.fcm.Deliveries(), 2)
		require.Len(p, p.apns.Deliveries(), 2)
		require.Equal(p, 2, p.apns.Deliveries()[1].Notification.Attempt)
		p.ended("alice", "m", "d")
		require.Equal(p, "df1 df2 da1", p.record("alice", "m")["D"])
		require.Equal(p, []string{"m"}, p.places())
		for _, d := range p.of("alice") {
			require.NotZero(p, d.LastSuccess)
		}
	})
}

// A device whose attempts end in vain leaves the message delivered.
func TestPartlyDeliveredEndsAsDelivered(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.has("alice", "f1")
		p.has("alice", "a1")
		p.apns.Script(unavailable(), unavailable(), unavailable())
		p.accepted(p.message("m", 5*time.Second))
		p.until(time.Minute)
		require.Len(p, p.apns.Deliveries(), 3)
		require.Len(p, p.fcm.Deliveries(), 1)
		p.ended("alice", "m", "d")
		require.Equal(p, "df1 fa1", p.record("alice", "m")["D"])
	})
}

func TestWithoutADeviceAMessageIsDropped(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.accepted(p.message("m", 5*time.Second))
		p.until(time.Minute)
		record := p.record("alice", "m")
		require.Equal(p, "no_device", record["w"])
		require.NotContains(p, record, "c")
		require.Empty(p, p.places(), "its place is free")
		require.Empty(p, p.watched("alice"))
	})
}

// Until a channel has delivered, it may be set up wrongly: nothing that it calls gone is
// believed, and the message waits. Afterwards the device is removed.
func TestGoneIsBelievedAfterTheFirstSuccess(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.has("alice", "f1")
		p.fcm.Script(knowsNoMore(), notifier.Result{Status: notifier.Delivered}, knowsNoMore())
		p.accepted(p.message("m", 5*time.Second))
		p.until(30 * time.Second)
		require.Len(p, p.fcm.Deliveries(), 1)
		require.True(p, p.of("alice")[0].Suspect)
		require.Equal(p, "0", p.record("alice", "m")["n"], "no attempt counts")

		p.has("bob", "f1")
		p.accepted(p.to("bob", "b", 40*time.Second))
		p.until(45 * time.Second)
		require.True(p, p.stateOfFCM().Proved(""))
		p.until(2 * time.Minute)
		require.Empty(p, p.of("alice"), "removed")
		require.Equal(p, "no_device", p.record("alice", "m")["w"])
		require.Equal(p, "gf1", p.record("alice", "m")["D"])
		require.Len(p, p.of("bob"), 1)
	})
}

// A wrong project makes the provider call every device gone: the brake stops the channel
// before any is removed. A message to a device that is no suspect resumes it, and nothing is lost.
func TestTheBrakeWipesNothing(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		var wrong atomic.Bool
		wrong.Store(true)
		p.fcm.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			if wrong.Load() {
				return knowsNoMore()
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		const users = 60
		for i := range users {
			user := fmt.Sprintf("user%d", i)
			p.has(user, "f1")
			p.accepted(p.to(user, "m", 10*time.Second+time.Duration(i)*time.Millisecond))
		}
		p.until(30 * time.Second)
		state := p.stateOfFCM()
		require.True(p, state.Stopped)
		require.Equal(p, channels.Brake, state.Reason)
		suspect := 0
		for i := range users {
			list := p.of(fmt.Sprintf("user%d", i))
			require.Len(p, list, 1, "nothing is removed")
			if list[0].Suspect {
				suspect++
			}
		}
		require.GreaterOrEqual(p, suspect, 50)
		p.until(3 * time.Minute)
		require.Zero(p, p.fcm.probes.Load(), "a probe would pass, and says nothing")
		require.True(p, p.stateOfFCM().Stopped)

		wrong.Store(false)
		p.has("bob", "f1")
		p.accepted(p.to("bob", "m", 4*time.Minute))
		p.until(15 * time.Minute)
		for i := range users {
			user := fmt.Sprintf("user%d", i)
			p.ended(user, "m", "d")
			require.False(p, p.of(user)[0].Suspect)
		}
	})
}

// Refused credentials stop their channel alone, and cost no message an attempt. A probe resumes it.
func TestRefusedCredentialsStopOneChannel(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.has("bob", "a1")
		p.fcm.broken.Store(true)
		users := []string{"alice", "carol", "dave"}
		for _, user := range users {
			p.has(user, "f1")
			p.accepted(p.to(user, "m", 5*time.Second))
		}
		p.until(10 * time.Second)
		state := p.stateOfFCM()
		require.True(p, state.Stopped)
		require.Equal(p, channels.Unauthorized, state.Reason)
		for i := range 5 {
			p.accepted(p.to("bob", fmt.Sprint("b", i), time.Duration(20+i)*time.Second), p.message(fmt.Sprint("a", i), time.Duration(20+i)*time.Second))
		}
		tried := len(p.fcm.Deliveries())
		p.until(150 * time.Second)
		require.Equal(p, []string{"b0 a1 +20s", "b1 a1 +21s", "b2 a1 +22s", "b3 a1 +23s", "b4 a1 +24s"}, p.got(p.apns))
		require.Len(p, p.fcm.Deliveries(), tried, "nothing is tried meanwhile")
		require.EqualValues(p, 3, p.fcm.probes.Load(), "after 5 s, and each minute from then on")
		for _, user := range users {
			require.Equal(p, "0", p.record(user, "m")["n"])
		}

		p.fcm.broken.Store(false)
		p.until(15 * time.Minute)
		require.False(p, p.stateOfFCM().Stopped)
		require.Len(p, p.fcm.Deliveries(), tried+8)
		for _, id := range []string{"m", "a0", "a1", "a2", "a3", "a4"} {
			p.ended("alice", id, "d")
		}
	})
}

// One account's messages that a receiver refuses fail, and hold up nothing.
func TestARefusedMessageHoldsUpNoOther(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work(retrying(3))
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			if n.ID[0] == 'p' {
				return refused()
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		var all []message.Message
		for i := range 60 {
			poison, good := s.message(fmt.Sprint("p", i), time.Duration(5+i/6)*time.Second), s.message(fmt.Sprint("m", i), time.Duration(5+i)*time.Second)
			poison.User, good.User = fmt.Sprint("mallory", i%6), "bob"
			all = append(all, poison, good)
		}
		s.accepted(all...)
		s.until(5 * time.Minute)
		good := 0
		for _, d := range s.recorder.Deliveries() {
			if d.Notification.User == "bob" {
				require.Less(s, d.At.Sub(d.Notification.SendAt), time.Second)
				good++
			}
		}
		require.Equal(s, 60, good)
		for i := range 60 {
			user, id := fmt.Sprint("mallory", i%6), fmt.Sprint("p", i)
			s.ended(user, id, "f")
			require.Equal(s, "unauthorized HTTP status 403", s.record(user, id)["w"]+" "+s.record(user, id)["i"])
		}
	}, "1000/minute")
}

// A target without a probe lets messages find out, one a minute, and those first that were not
// refused before.
func TestATargetThatRefusesAllIsProbedWithMessages(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work(retrying(1))
		s.always(refused())
		for _, user := range []string{"alice", "carol", "dave"} {
			m := s.message("a", 5*time.Second)
			m.User = user
			s.accepted(m)
		}
		s.until(12 * time.Second) // by then the channel is stopped
		tried := len(s.recorder.Deliveries())
		require.Equal(s, "0", s.record("alice", "a")["n"])
		require.Equal(s, "unauthorized", s.record("alice", "a")["w"])
		for i := range 3 {
			s.accepted(s.message(fmt.Sprint("b", i), time.Duration(20+60*i)*time.Second))
		}
		s.until(160 * time.Second)
		probes := s.recorder.Deliveries()[tried:]
		require.Len(s, probes, 3)
		for i, d := range probes {
			require.Equal(s, fmt.Sprint("b", i), d.Notification.ID)
		}
		s.always(notifier.Result{Status: notifier.Delivered})
		s.until(20 * time.Minute)
		for _, id := range []string{"a", "b0", "b1", "b2"} {
			s.ended("alice", id, "d")
		}
		require.Zero(s, s.queued())
	}, "100/minute")
}

// A provider that asks to leave its channel alone holds up no other. Once it takes messages again,
// it gets the one that was due last, and not all of them.
func TestAPausedChannelHoldsUpNoOther(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.has("alice", "f1")
		p.has("alice", "a1")
		p.fcm.Script(notifier.Result{
			Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: 5 * time.Minute, Pause: notifier.PauseChannel,
		})
		p.accepted(p.message("m", 5*time.Second), p.message("n", 10*time.Second), p.message("o", 15*time.Second))
		p.until(4 * time.Minute)
		require.Equal(p, []string{"m a1 +5s", "n a1 +10s", "o a1 +15s"}, p.got(p.apns))
		require.Equal(p, []string{"m f1 +5s"}, p.got(p.fcm))
		require.Equal(p, "da1", p.record("alice", "n")["D"])
		p.until(20 * time.Minute)
		require.Len(p, p.fcm.Deliveries(), 2)
		require.Len(p, p.apns.Deliveries(), 3)
		for id, done := range map[string]string{"m": "da1", "n": "da1", "o": "da1 df1"} {
			p.ended("alice", id, "d")
			require.Equal(p, done, p.record("alice", id)["D"])
		}
		require.Equal(p, messages.ReasonNoFreeTime, p.record("alice", "n")["w"])
	})
}

// A provider that never answers may have three quarters of the delivery slots, and no more.
func TestAStuckChannelHoldsUpNoOther(t *testing.T) {
	tellOfPhones(t, func(p *phones) {
		p.fcm.AnswerWith(func(ctx context.Context, _ notifier.Notification) notifier.Result {
			<-ctx.Done()
			return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout}
		})
		p.has("bob", "a1")
		for i := range 20 {
			user := fmt.Sprintf("user%d", i)
			p.has(user, "f1")
			p.accepted(p.to(user, "m", 10*time.Second))
		}
		want := []string{}
		for i := range 8 {
			p.accepted(p.to("bob", fmt.Sprint("b", i), time.Duration(11+i)*time.Second))
			want = append(want, fmt.Sprintf("b%d a1 +%ds", i, 11+i))
		}
		p.until(25 * time.Second)
		require.Equal(p, want, p.got(p.apns))
	}, func(o *tasks.WorkerOptions) { o.Deliveries = 4 })
}
