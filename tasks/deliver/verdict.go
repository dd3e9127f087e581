package deliver

import (
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

// judge applies the answers to the message, its devices and their channels.
func (a *attempt) judge() {
	now := a.h.Clock.Now()
	var gone []devices.Gone
	var paced []*PacedChannel
	for i := range a.answers {
		to := &a.answers[i]
		if !to.sent {
			continue
		}
		a.count(to)
		to.reason = string(to.result.Reason)
		to.result = slowedDown(to.result)
		switch to.result.Status {
		case notifier.Delivered:
			to.state = messages.DeviceDelivered
			a.accepted(to, now)
		case notifier.Retry:
			a.retried(to)
		case notifier.SlowDown:
			to.wait = max(to.result.RetryAfter, time.Millisecond)
		case notifier.Gone:
			if to.device == nil { // the message is at fault
				to.state = messages.DeviceFailed
			} else if a.gone(to, now) {
				gone = append(gone, devices.Gone{ID: to.device.ID, Address: to.device.Address, Since: to.result.GoneSince})
				paced = append(paced, to.channel)
			}
		case notifier.Refused:
			a.refused(to, now)
		case notifier.Permanent:
			to.state = messages.DeviceFailed
			if to.device != nil {
				to.channel.Rejected(to.device.Address)
			}
		}
		a.pause(to)
	}
	if len(gone) > 0 {
		a.later(func(ctx context.Context) { a.h.removeGone(ctx, a.d.User, gone, paced) })
	}
}

// later calls f once the result is stored.
func (a *attempt) later(f func(context.Context)) { a.after = append(a.after, f) }

func (a *attempt) count(to *answer) {
	if to.result.Status == notifier.Delivered {
		a.h.Metrics.ChannelDelivered(to.channel.Name)
		return
	}
	a.h.Metrics.ChannelFailed(to.channel.Name, string(to.result.Reason))
}

func (a *attempt) accepted(to *answer, now time.Time) {
	l, address := to.channel, ""
	if to.device != nil {
		address = to.device.Address
	}
	if state := l.State(); state.Stopped { // the present credentials are right
		a.later(func(ctx context.Context) { a.h.Channels.Passed(ctx, l.Channel, state) })
	}
	if l.Accepted(address, now) {
		a.later(func(ctx context.Context) { a.h.Channels.Prove(ctx, l.Channel) })
	}
	if to.device == nil {
		return
	}
	id, suspect := []string{to.device.ID}, to.device.Suspect
	if noted := now.Sub(to.device.LastSuccess) < time.Hour; noted && !suspect {
		return
	}
	a.later(func(ctx context.Context) {
		_, err := a.h.Devices.NoteSuccess(ctx, a.d.User, id)
		if err == nil && suspect {
			_, err = a.h.Devices.ClearSuspect(ctx, a.d.User, id)
		}
		if err != nil {
			a.h.Logger.DebugContext(ctx, "could not store the success of a device", "error", err)
		}
	})
}

// retried handles an answer that asks for another attempt, or a missing answer.
func (a *attempt) retried(to *answer) {
	if to.result.Uncertain() && (a.h.OnUncertain == SkipUncertain || a.last()) {
		to.state = messages.DeviceUncertain
		return
	}
	a.failed(to)
}

// last reports whether this is the last attempt.
func (a *attempt) last() bool { return a.claim.Attempt >= a.h.Retries.Attempts }

func (a *attempt) failed(to *answer) {
	if a.last() {
		to.state = messages.DeviceFailed
		return
	}
	to.wait, to.counted = a.h.Retries.Wait(a.claim.Attempt, to.result.RetryAfter), true
}

// refused handles an answer that refuses us. It counts as an attempt only if the message is known to
// be at fault.
func (a *attempt) refused(to *answer, now time.Time) {
	refusal := to.channel.Refused(a.of(), now)
	switch {
	case refusal.Stop:
		to.wait = a.stop(to.channel, channels.Stop{Reason: stopReason(to.result.Reason), Detail: detail(to.result)})
	case refusal.Own:
		a.failed(to)
	default:
		to.wait = a.h.Retries.Wait(refusal.Times, 0)
	}
}

func (a *attempt) of() channels.Sent {
	return channels.Sent{Account: a.claim.Account, Campaign: a.claim.Campaign, User: a.d.User, ID: a.d.ID}
}

// gone handles a device that its provider calls gone, and reports whether to remove it.
func (a *attempt) gone(to *answer, now time.Time) bool {
	id := to.device.ID
	what, wait := to.channel.Gone(a.of(), id, to.device.Address, now)
	switch what {
	case channels.Remove:
		to.state = messages.DeviceGone
		return true
	case channels.Keep:
		to.state = messages.DeviceGone
	case channels.Trip:
		to.wait = wait
		a.stop(to.channel, channels.Stop{Reason: channels.Brake, Detail: "its provider calls all devices gone; the last reason is " + to.reason})
	case channels.Hold:
		to.wait = wait
	}
	a.h.Metrics.DeviceKept(to.channel.Name)
	if !to.device.Suspect {
		a.later(func(ctx context.Context) {
			if _, err := a.h.Devices.MarkSuspect(ctx, a.d.User, []string{id}); err != nil {
				a.h.Logger.DebugContext(ctx, "could not mark a device as suspect", "error", err)
			}
		})
	}
	return false
}

// stop stops a channel, and returns how long the message waits.
func (a *attempt) stop(l *PacedChannel, why channels.Stop) time.Duration {
	a.later(a.h.Channels.Stop(l.Channel, why))
	wait, _ := l.Stopped(a.h.Clock.Now())
	return max(wait, refusedWait)
}

// pause pauses the target, the channel or the device, as an answer asks.
func (a *attempt) pause(to *answer) {
	if to.result.Status == notifier.SlowDown {
		a.h.Metrics.ChannelPaused(to.channel.Name, to.result.Pause.String())
	}
	switch to.result.Pause {
	case notifier.PauseChannel:
		target, passed := a.target(to)
		a.later(target.slowDown(to.result, passed))
	case notifier.PauseHost:
		if host := to.channel.pausedHost(to.device); host != nil {
			a.later(host.slowDown(to.result, to.ofHost))
		}
	case notifier.PauseDevice:
		if to.device != nil {
			to.channel.PauseDevice(to.device.Address, a.h.Clock.Local().Add(min(to.result.RetryAfter, longestPause)))
		}
		target, passed := a.target(to)
		if host := to.channel.host(to.device); host != nil {
			target, passed = host, to.ofHost
		}
		if to.result.Unclear {
			if learn := target.refusedUnclearly(to.channel.Channel, a.of(), passed); learn != nil {
				a.later(learn)
			}
		}
	case notifier.PauseMessage:
	}
}

// target returns the Pacer of all calls to a channel, and the permit that it gave. A worker with one
// channel waits for it before the claim.
func (a *attempt) target(to *answer) (*Pacer, permit) {
	if to.channel.slots == nil {
		return a.h.Pacer, a.permit
	}
	return to.channel.Pacer, to.permit
}

func (h *Handler) removeGone(ctx context.Context, user string, gone []devices.Gone, paced []*PacedChannel) {
	removed, err := h.Devices.RemoveGone(ctx, user, gone)
	if err != nil {
		h.Logger.DebugContext(ctx, "could not remove gone devices: they stay until the next message, or in their account's count", "error", err)
	}
	for i, g := range gone {
		if slices.Contains(removed, g.ID) {
			h.Metrics.DevicesRemoved(paced[i].Name, string(notifier.ReasonGone), 1)
			h.Logger.InfoContext(ctx, "removed a device: its provider no longer knows it", "channel", paced[i].Name, "reason", notifier.ReasonGone, "device", g.ID)
		}
	}
}

// finish makes the calls that follow the stored result.
func (a *attempt) finish(ctx context.Context) {
	for _, f := range a.after {
		trying, done := context.WithTimeout(ctx, persist.TryWithin)
		f(trying)
		done()
	}
	for _, end := range a.ends {
		end()
	}
}

func stopReason(r notifier.Reason) channels.Reason {
	if r == notifier.ReasonMisaddressed {
		return channels.Misaddressed
	}
	return channels.Unauthorized
}

func detail(r notifier.Result) string {
	if r.Err == nil {
		return ""
	}
	return r.Err.Error()
}
