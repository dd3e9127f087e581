package deliver

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

const (
	// slotWithin is how long a message waits for a slot of a channel before it is put back.
	// After a wait in vain others do not wait at all for fullFor: they have delivery slots
	// that messages of other channels need.
	slotWithin, fullFor = 100 * time.Millisecond, time.Second
	// backSoonest and backLatest bound for how long a message is put back that waits for a
	// slot or the pace of a channel.
	backSoonest, backLatest = 250 * time.Millisecond, 10 * time.Minute
	// lookApart is how long after one message of stopped channels another one is claimed, ms.
	lookApart = 50
	// maxOfSlots is the share of the delivery slots that one of several channels may have, and
	// that one of several active accounts may have, in quarters. Of the slots of a channel an
	// account may have maxOfChannel, in eighths.
	maxOfSlots, maxOfChannel = 3, 7
)

// PacedChannel is a channel, with what bounds the calls to it.
type PacedChannel struct {
	*channels.Channel

	Pacer *Pacer // of its ChannelPace
	slots *Slots // one per message that uses the channel; nil if it is the only one

	mu   sync.Mutex
	next time.Time // when the message that is put back next may come, by the local clock
	full time.Time // when a wait for a slot was in vain, by the local clock
}

// NewChannels returns the paced channels of a worker's channels, which make a number of deliveries at a
// time.
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

// takeSlot takes a slot of the channel, if one becomes free at once or within a time.
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

// isFull reports whether a wait for a slot was in vain a moment ago.
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

// putBack returns for how long a message is put back that could go in a while at the soonest.
// Those that are put back together come again one after another, as far apart as the channel
// takes them, so that each is put back about once.
func (l *PacedChannel) putBack(now time.Time, soonest, apart time.Duration) time.Duration {
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

// stoppedAll reports whether no message can be delivered, as each channel is stopped, and for how
// long a task is to wait then. It lets a few through: only a claim tells whose message it is, see
// channels.Set.MayProbe.
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

// Follow follows the pace of all messages, those of the channels, and whether a channel is
// stopped, until the returned function is called. It returns an error if one of them can't be
// loaded.
func (h *Handler) Follow(ctx context.Context) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	wake := func(ctx context.Context) error { return h.Queue.WakeWaiting(ctx, ErrPaced) }
	follow := []func(context.Context, func(context.Context) error) (func(), error){h.Pacer.Follow, h.Channels.Follow}
	for _, l := range h.PacedChannels {
		follow = append(follow, l.Pacer.Follow)
	}
	for i, begin := range follow {
		if i > 1 { // tasks in the queue wait for the pace of no channel
			wake = func(context.Context) error { return nil }
		}
		end, err := begin(ctx, wake)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, end)
	}
	return stop, nil
}

// putBackPaced returns for how long a message is put back that the pace of a channel, a pause or
// the end of the worker keeps from being sent.
func (h *Handler) putBackPaced(l *PacedChannel, err error) time.Duration {
	soonest := time.Duration(0)
	if paced, ok := errors.AsType[*pacedError](err); ok {
		soonest = paced.after
	}
	return l.putBack(h.Clock.Local(), soonest, l.Pacer.apart())
}
