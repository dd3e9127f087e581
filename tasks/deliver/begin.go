package deliver

import (
	"context"
	"time"
)

// begin begins the call to a recipient once both paces allow it: that of all messages and that of
// its channel, unless sending is stopped. It sets sent, and returns when the call began. Otherwise
// it returns how long the recipient is put back; late is set if the message has to be judged again.
//
// It checks the stop and both permits right before the call: a wait for the slot, the pace or the
// store may have taken long.
func (a *attempt) begin(ctx context.Context, to *answer) (began time.Time, wait time.Duration) {
	h, l := a.h, to.channel
	var err error
	host := l.host(to.device)
	waiting := host != nil || !l.Pacer.free() || !h.Pacer.free()
	if host != nil {
		if to.ofHost, err = host.pass(ctx, h.Stopping, a.d.Origin); err != nil {
			return time.Time{}, h.putBackPaced(host, err)
		}
		defer func() {
			if !to.sent {
				host.keepToken(to.ofHost)
			}
		}()
	}
	ofChannel, err := l.Pacer.pass(ctx, h.Stopping, a.d.Origin)
	for range renewals {
		if err == nil {
			ofChannel, err = l.Pacer.renew(ctx, h.Stopping, ofChannel, a.d.Origin)
		}
		if err != nil {
			return time.Time{}, h.putBackPaced(l.Pacer, err)
		}
		if err = a.renew(ctx); err != nil {
			break
		}
		if waiting {
			waited := h.Clock.Local().Sub(a.began)
			if to.late = a.late+waited > h.Tolerance; to.late || waited > h.Margin/2 {
				l.Pacer.giveBack(ctx, ofChannel)
				return time.Time{}, backSoonest
			}
		}
		// The last step, which may take as long as a look at the store.
		if _, to.late = h.Channels.SendingStopped(ctx); to.late {
			l.Pacer.giveBack(ctx, ofChannel)
			return time.Time{}, backSoonest
		}
		if began, to.sent = a.spend(ofChannel); to.sent {
			to.permit = ofChannel
			return began, 0
		}
	}
	l.Pacer.giveBack(ctx, ofChannel)
	return time.Time{}, h.putBackPaced(l.Pacer, err)
}

// renew renews the permit of all messages if it is no longer in time. Calls that have begun keep
// the old one.
func (a *attempt) renew(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	renewed, err := a.h.Pacer.renew(ctx, a.h.Stopping, a.permit, a.d.Origin)
	if err != nil {
		a.permit.spent = true
		return err
	}
	a.permit = renewed
	return nil
}

// spend spends both permits if they are in time, and returns when.
func (a *attempt) spend(ofChannel permit) (began time.Time, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	began = a.h.Clock.Local()
	if !a.permit.inTime() || !ofChannel.inTime() {
		return time.Time{}, false
	}
	a.permit.spent = true
	return began, true
}
