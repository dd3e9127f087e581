package deliver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
)

// attempt is one attempt to deliver a claimed message to its remaining recipients.
type attempt struct {
	h       *Handler
	d       messages.Delivery
	claim   messages.Claim
	content message.Content
	began   time.Time     // after the claim, by the local clock
	late    time.Duration // how late it was then
	mu      sync.Mutex
	permit  permit // of the pace of all messages; the calls share it while it is in time
	answers []answer
	after   []func(context.Context) // called once the result is stored
	ends    []func()                // called after these
}

// answer is the result of one recipient.
type answer struct {
	recipient
	sent   bool   // the provider was asked
	permit permit // of its channel
	ofHost permit // of its host
	result notifier.Result
	state  messages.DeviceState // zero if the message still has to go there
	reason string               // why it was not delivered
	// wait is how long the recipient has to wait; counted reports that the attempt counts.
	wait    time.Duration
	counted bool
	late    bool // the message has to be judged again
}

// run asks the providers of all recipients at once.
func (a *attempt) run(ctx context.Context, to []recipient) {
	a.answers = make([]answer, len(to))
	for i, r := range to {
		a.answers[i].recipient = r
	}
	var calls []func()
	for _, l := range a.h.PacedChannels {
		var mine []*answer
		for i := range a.answers {
			if a.answers[i].channel == l {
				mine = append(mine, &a.answers[i])
			}
		}
		if len(mine) > 0 {
			calls = append(calls, func() { a.runChannel(ctx, l, mine) })
		}
	}
	sideBySide(calls)
}

// sideBySide makes calls at the same time. A single one gets no goroutine of its own, so that its
// panic is that of the task.
func sideBySide(calls []func()) {
	if len(calls) == 1 {
		calls[0]()
		return
	}
	var running sync.WaitGroup
	for _, call := range calls {
		running.Go(call)
	}
	running.Wait()
}

// runChannel asks the provider of one channel for its recipients. All devices of the message use
// one slot of the channel.
func (a *attempt) runChannel(ctx context.Context, l *PacedChannel, mine []*answer) {
	suspects := !slices.ContainsFunc(mine, func(to *answer) bool { return to.device == nil || !to.device.Suspect })
	if wait, reason := a.closed(ctx, l, suspects); wait > 0 {
		for _, to := range mine {
			to.wait, to.reason = wait, reason
		}
		return
	}
	defer l.leaveSlot(a.d.Origin)
	calls := make([]func(), len(mine))
	for i, to := range mine {
		calls[i] = func() { a.ask(ctx, to) }
	}
	sideBySide(calls)
}

// closed returns how long a message has to wait because a channel is stopped or has no free
// slot. If it returns zero, the message has a slot. A message to suspects is no probe.
func (a *attempt) closed(ctx context.Context, l *PacedChannel, suspects bool) (wait time.Duration, reason string) {
	now := a.h.Clock.Now()
	if wait, stopped := l.Stopped(now); stopped {
		if suspects || !a.h.Channels.MayProbe(ctx, l.Channel, a.of()) {
			return wait, string(l.State().Reason)
		}
	}
	if !l.takeSlot(ctx, a.d.Origin, a.h.Clock.Local, min(slotWithin, a.h.Margin/4)) {
		apart := a.h.PushTimeout / time.Duration(l.slots.all)
		return l.backs.putBack(a.h.Clock.Local(), 0, min(apart, slotWithin)), reasonBusy
	}
	return 0, ""
}

// Why a message is put back before a provider was asked.
const (
	reasonBusy  = "channel_busy"
	reasonPaced = "paced"
)

// ask asks the provider of one recipient.
func (a *attempt) ask(ctx context.Context, to *answer) {
	h, l := a.h, to.channel
	if to.device != nil {
		if wait := l.DevicePaused(to.device.Address, h.Clock.Local()); wait > 0 {
			to.wait, to.reason = wait, reasonPaced
			return
		}
	}
	began, wait := a.begin(ctx, to)
	if !to.sent {
		to.wait, to.reason = wait, reasonPaced
		return
	}
	l.Sends(a.of(), h.Clock.Now())
	ctx, cancel := context.WithTimeout(ctx, h.PushTimeout)
	ctx, clean := notifier.WithCleanup(ctx)
	to.result = a.notify(ctx, to.recipient, began)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, func() {
		defer cancel()
		clean()
	})
}

// notification returns the message for one recipient.
func (a *attempt) notification(to recipient) notifier.Notification {
	c := a.content
	n := notifier.Notification{
		ID: a.d.ID, User: a.d.User, Category: a.claim.Category,
		Title: c.Title, Body: c.Body, Data: c.Data,
		Campaign: a.claim.Campaign, Metadata: message.DecodeMetadata(a.claim.Metadata),
		Image: c.Image, ClickURL: c.ClickURL, Sound: c.Sound, Badge: c.Badge,
		Priority: notifier.Priority(c.Priority), CollapseKey: c.CollapseKey, Override: c.Channels[to.channel.Name],
		ExpiresAt: a.claim.ExpiresAt,
		SendAt:    promised(a.claim), RequestedAt: a.claim.RequestedAt, Attempt: a.claim.Attempt,
		IdempotencyKey: notifier.IdempotencyKey(a.claim.Account, a.d.User, a.d.ID),
	}
	if d := to.device; d != nil {
		n.Device = &notifier.Device{
			ID: d.ID, Channel: d.Channel, App: d.App, Address: d.Address, Locale: d.Locale, RegisteredAt: d.RegisteredAt,
		}
	}
	return n
}
