package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

// paceOf gives a channel a pace.
func (p *phones) paceOf(channel, rateText string) {
	p.Helper()
	paces, err := rate.NewPaces(p.client, keyspace.KeysUnder(""), deliver.ChannelPace(channel))
	require.NoError(p, err)
	pace, err := rate.Parse(rateText)
	require.NoError(p, err)
	require.NoError(p, paces.Apply(p.Context(), rate.Pace{Rate: pace}))
}

// callsOf returns when some phones were called, in order.
func (p *phones) callsOf(some ...*phone) []time.Duration {
	var calls []time.Duration
	for _, from := range some {
		for _, d := range from.Deliveries() {
			calls = append(calls, d.At.Sub(p.began))
		}
	}
	slices.Sort(calls)
	return calls
}

// usePaced is use without ramps.
func (p *phones) usePaced(o *tasks.WorkerOptions) {
	p.use(o)
	for i := range o.Channels {
		o.Channels[i].Ramp = -1
	}
}

// crowdOf submits messages to as many users of a kind of device.
func (p *phones) crowdOf(device string, users int, after time.Duration) {
	p.Helper()
	for i := range users {
		user := fmt.Sprintf("%s-%d", device, i)
		p.has(user, device)
		p.accepted(p.to(user, "m", after))
	}
}

// A message that waits for the pace of its channel may have a permit of all messages meanwhile. Its
// call does not come on top of those that have the permits of the next second.
func TestPaceOfAllWhereOneChannelIsPaced(t *testing.T) {
	tell(t, func(s *story) {
		p := newPhones(s)
		p.pace("10/second", 0)
		p.paceOf(notifier.ChannelFCM, "3/second")
		s.work(p.usePaced)
		p.crowdOf("f", 20, 2*time.Second)
		p.crowdOf("a", 40, 2*time.Second)
		p.until(time.Minute)
		require.Len(p, p.callsOf(p.fcm), 20)
		require.Len(p, p.callsOf(p.apns), 40)
		require.LessOrEqual(p, most(p.callsOf(p.fcm), time.Second), 3)
		require.LessOrEqual(p, most(p.callsOf(p.fcm, p.apns), time.Second), 10)
		require.Zero(p, p.queued())
	}, "1000/hour")
}

// The same for a message that waits for a slot of its channel.
func TestPaceOfAllWhereOneChannelIsFull(t *testing.T) {
	tell(t, func(s *story) {
		p := newPhones(s)
		p.pace("4/second", 0)
		p.fcm.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			time.Sleep(90 * time.Millisecond)
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work(p.usePaced, func(o *tasks.WorkerOptions) { o.Deliveries = 4 }) // three for each channel
		p.crowdOf("f", 4, 2*time.Second)
		p.crowdOf("a", 4, 3*time.Second+60*time.Millisecond)
		p.until(20 * time.Second)
		require.Len(p, p.callsOf(p.fcm), 4)
		require.Len(p, p.callsOf(p.apns), 4)
		require.LessOrEqual(p, most(p.callsOf(p.fcm, p.apns), time.Second), 4)
		require.Zero(p, p.queued())
	}, "1000/hour")
}

// A permit of a channel whose answer took long makes no call late enough to come on top of those
// that have the permits of the next second.
func TestPaceOfAChannelWhoseAnswersTakeLong(t *testing.T) {
	tell(t, func(s *story) {
		p := newPhones(s)
		p.paceOf(notifier.ChannelFCM, "10/second")
		slow := &slowAnswers{to: lua.PermitsAcquire.Hash(), takes: 900 * time.Millisecond}
		slow.left.Store(3)
		s.hook = redistest.Calls(slow.onCall)
		s.work(p.usePaced)
		p.crowdOf("f", 40, 2*time.Second)
		p.until(time.Minute)
		require.Len(p, p.callsOf(p.fcm), 40)
		require.LessOrEqual(p, most(p.callsOf(p.fcm), time.Second), 10)
		require.Zero(p, p.queued())
	}, "1000/hour")
}

// A message that is put back for the pace of its channel costs no permit of all messages.
func TestPaceOfAllWhereAChannelPutsBack(t *testing.T) {
	tell(t, func(s *story) {
		p := newPhones(s)
		p.pace("10/hour", 0)
		p.paceOf(notifier.ChannelFCM, "1/hour")
		s.work(p.usePaced)
		p.crowdOf("f", 5, 2*time.Second)
		p.until(10 * time.Second)
		require.Len(p, p.callsOf(p.fcm), 1)
		require.Equal(p, int64(1), p.client.ZCard(p.Context(), "sl:{pace:push}:permits").Val())
	}, "1000/hour")
}

// A message that goes to several devices at once takes one permit of all messages.
func TestPaceOfAllCountsAMessageOnce(t *testing.T) {
	tell(t, func(s *story) {
		p := newPhones(s)
		p.pace("2/hour", 0)
		s.work(p.usePaced)
		for i := range 3 {
			user := fmt.Sprintf("user-%d", i)
			p.has(user, "f1")
			p.has(user, "f2")
			p.has(user, "a1")
			p.accepted(p.to(user, "m", 2*time.Second))
		}
		p.until(3 * time.Minute) // a task that found no permit comes again after a minute
		require.Len(p, p.callsOf(p.fcm), 4)
		require.Len(p, p.callsOf(p.apns), 2)
	}, "1000/hour")
}
