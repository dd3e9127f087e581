package deliver

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

const (
	// slotWithin is how long a message waits for a slot of a channel before it is put back.
	// After that, the others do not wait for the time fullFor: messages of other channels need
	// their delivery slots.
	slotWithin, fullFor = 100 * time.Millisecond, time.Second
	// backSoonest and backLatest bound how long a message is put back for a slot or the pace of a
	// channel.
	backSoonest, backLatest = 250 * time.Millisecond, 10 * time.Minute
	// lookApart is the time between two claims while all channels are stopped, ms.
	lookApart = 50
	// maxOfSlots is the largest share of the delivery slots that one of several channels, or of
	// several active accounts, may have, in quarters. maxOfChannel is the largest share of a
	// channel's slots that an account may have, in eighths.
	maxOfSlots, maxOfChannel = 3, 7
)

// PacedChannel is a channel with the bounds of its calls.
type PacedChannel struct {
	*channels.Channel

	Pacer *Pacer // of its ChannelPace
	slots *Slots // one for each message that uses the channel; nil if it is the only channel

	backs putBacks
	paced pacedHosts

	mu   sync.Mutex
	full time.Time // when a wait for a slot failed, by the local clock
}

// putBacks spreads the messages that are put back.
type putBacks struct {
	mu   sync.Mutex
	next time.Time // for the next message, by the local clock
}

// NewChannels returns the paced channels of a worker with a number of concurrent deliveries.
func NewChannels(
	all []*channels.Channel, deliveries int, local func() time.Time, pacer func(*channels.Channel) (*Pacer, error),
) ([]*PacedChannel, error) {
	paced := make([]*PacedChannel, len(all))
	for i, c := range all {
		p, err := pacer(c)
		if err != nil {
			return nil, err
		}
		paced[i] = &PacedChannel{Channel: c, Pacer: p}
		if len(all) > 1 {
			n := max(1, deliveries*maxOfSlots/4)
			paced[i].slots = NewSlots(n, n*maxOfChannel/8, local)
		}
	}
	return paced, nil
}

// takeSlot takes a slot of the channel, if one is free or becomes free within a time.
func (l *PacedChannel) takeSlot(ctx context.Context, o sendlimit.Origin, local func() time.Time, within time.Duration) bool {
	if l.slots == nil || l.slots.Try(o) {
		return true
	}
	if l.isFull(local()) {
		return false
	}
	patient, done := context.WithTimeout(ctx, within)
	defer done()
	if l.slots.Take(patient, nil, o) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = local()
	return false
}

// isFull reports whether a wait for a slot has just failed.
func (l *PacedChannel) isFull(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.full.IsZero() && now.Sub(l.full) < fullFor
}

func (l *PacedChannel) leaveSlot(o sendlimit.Origin) {
	if l.slots != nil {
		l.slots.Leave(o)
	}
}

// putBack returns how long a message is put back, at least soonest. Messages that are put back
// together come again apart, as fast as the channel accepts them, so that each is put back about
// once.
func (l *putBacks) putBack(now time.Time, soonest, apart time.Duration) time.Duration {
	if soonest >= backLatest {
		return soonest + rand.N(soonest/10)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := now.Add(max(soonest, backSoonest))
	if l.next.After(at) {
		at = l.next
	}
	if latest := now.Add(backLatest); at.After(latest) {
		at = latest
	}
	l.next = at.Add(max(apart, time.Millisecond))
	return at.Sub(now)
}

// stoppedAll reports whether all channels are stopped, and how long a task then waits. It permits a
// claim every lookApart, since only a claim shows the message's account, see channels.Set.MayProbe.
func (h *Handler) stoppedAll() (wait time.Duration, stopped bool) {
	now := h.Clock.Now()
	for _, l := range h.PacedChannels {
		until, is := l.Stopped(now)
		if !is || l.ProbeDue(now) {
			return 0, false
		}
		if wait == 0 || until < wait {
			wait = until
		}
	}
	last, local := h.looked.Load(), h.Clock.Local().UnixMilli()
	if local-last >= lookApart && h.looked.CompareAndSwap(last, local) {
		return 0, false
	}
	return wait, true
}

// Follow follows the paces and the states of the channels until the returned function is called. It
// returns an error if one of them can't be loaded.
func (h *Handler) Follow(ctx context.Context) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	wake := func(ctx context.Context) error { return h.Queue.WakeWaiting(ctx, ErrPaced) }
	follow := []func(context.Context, *job.Looks, func(context.Context) error) (func(), error){h.Pacer.Follow, h.Channels.Follow}
	for _, l := range h.PacedChannels {
		follow = append(follow, l.Pacer.Follow)
	}
	for i, begin := range follow {
		if i > 1 { // no task in the queue waits for the pace of a channel
			wake = func(context.Context) error { return nil }
		}
		end, err := begin(ctx, h.Looks, wake)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, end)
	}
	for _, l := range h.PacedChannels {
		if _, ok := l.Notifier.(notifier.Hoster); ok {
			stops = append(stops, job.Repeat(ctx, job.LookEvery, l.lookAtHosts))
		}
	}
	return stop, nil
}

// putBackPaced returns how long a message is put back for a pace, a pause or the worker's end.
func (h *Handler) putBackPaced(p *Pacer, err error) time.Duration {
	soonest := time.Duration(0)
	if paced, ok := errors.AsType[*pacedError](err); ok {
		soonest = paced.after
	}
	return p.backs.putBack(h.Clock.Local(), soonest, p.backsApart())
}
