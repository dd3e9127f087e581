package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
)

// attempt is one attempt to deliver a claimed message to all that it still has to go to.
type attempt struct {
	h       *Handler
	d       messages.Delivery
	claim   messages.Claim
	content message.Content
	began   time.Time     // by the local clock, with the claim at hand
	late    time.Duration // how late it was then
	mu      sync.Mutex
	permit  permit // of the pace of all messages, which the calls share while it is in time
	answers []answer
	after   []func(context.Context) // what to do once the result is recorded
	ends    []func()                // the same, at last
}

// answer is what became of one recipient.
type answer struct {
	recipient
	sent   bool // the provider was asked
	result notifier.Result
	state  messages.DeviceState // zero if the message still has to go there
	reason string               // why it was not delivered
	// wait is how long the recipient has to wait; counted reports that the attempt counts.
	wait    time.Duration
	counted bool
	late    bool // the message is too late to be sent without being judged anew
}

// run asks the providers of all recipients at once.
func (a *attempt) run(ctx context.Context, to []recipient) {
	a.answers = make([]answer, len(to))
	for i, r := range to {
		a.answers[i].recipient = r
	}
	ends := make([]func(), len(to))
	if len(to) == 1 {
		a.runChannel(ctx, a.answers, ends)
	} else {
		// Recipients of one channel follow each other: those without devices come first, and
		// one slot of the channel is for all devices of the message.
		var running sync.WaitGroup
		for _, l := range a.h.PacedChannels {
			running.Go(func() { a.runChannel(ctx, a.answers, ends, l) })
		}
		running.Wait()
	}
	for _, end := range ends {
		if end != nil {
			a.ends = append(a.ends, end)
		}
	}
}

// runChannel asks the provider of one channel, for all recipients of only; without one for the
// single recipient.
func (a *attempt) runChannel(ctx context.Context, answers []answer, ends []func(), only ...*PacedChannel) {
	var mine []int
	for i := range answers {
		if len(only) == 0 || answers[i].channel == only[0] {
			mine = append(mine, i)
		}
	}
	if len(mine) == 0 {
		return
	}
	l := answers[mine[0]].channel
	if wait, reason := a.closed(ctx, l, suspects(answers, mine)); wait > 0 {
		for _, i := range mine {
			answers[i].wait, answers[i].reason = wait, reason
		}
		return
	}
	defer l.leaveSlot(a.d.Origin)
	if len(mine) == 1 {
		ends[mine[0]] = a.ask(ctx, &answers[mine[0]])
		return
	}
	var running sync.WaitGroup
	for _, i := range mine {
		running.Go(func() { ends[i] = a.ask(ctx, &answers[i]) })
	}
	running.Wait()
}

// suspects reports whether all of some recipients are devices that were called gone before.
func suspects(answers []answer, of []int) bool {
	for _, i := range of {
		if d := answers[i].device; d == nil || !d.Suspect {
			return false
		}
	}
	return true
}

// closed returns for how long a message has to wait, as a channel is stopped or has no free
// slot. If it has not to wait, it has a slot. A message to suspects is no probe.
func (a *attempt) closed(ctx context.Context, l *PacedChannel, suspects bool) (wait time.Duration, reason string) {
	now := a.h.Clock.Now()
	if wait, stopped := l.Stopped(now); stopped {
		if suspects || !a.h.Channels.MayProbe(ctx, l.Channel, a.of()) {
			return wait, string(l.State().Reason)
		}
	}
	if !l.takeSlot(ctx, a.d.Origin, a.h.Clock.Local, min(slotWithin, a.h.Margin/4)) {
		apart := a.h.PushTimeout / time.Duration(l.slots.all)
		return l.putBack(a.h.Clock.Local(), 0, min(apart, slotWithin)), reasonBusy
	}
	return 0, ""
}

// Why a message is put back that no provider was asked for.
const (
	reasonBusy  = "channel_busy"
	reasonPaced = "paced"
)

// ask asks the provider of one recipient. It returns what to call once the result is stored.
func (a *attempt) ask(ctx context.Context, to *answer) (end func()) {
	h, l := a.h, to.channel
	if to.device != nil {
		if wait := l.DevicePaused(to.device.Address, h.Clock.Local()); wait > 0 {
			to.wait, to.reason = wait, reasonPaced
			return nil
		}
	}
	began, wait := a.begin(ctx, to)
	if !to.sent {
		to.wait, to.reason = wait, reasonPaced
		return nil
	}
	l.Sends(a.of(), h.Clock.Now())
	ctx, cancel := context.WithTimeout(ctx, h.PushTimeout)
	ctx, clean := notifier.WithCleanup(ctx)
	to.result = a.notify(ctx, to.recipient, began)
	return func() {
		defer cancel()
		clean()
	}
}

// notification returns what a channel is told.
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
