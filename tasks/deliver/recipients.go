package deliver

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
)

// recipient is a device, or a channel without devices.
type recipient struct {
	channel *PacedChannel
	device  *devices.Device // nil for a channel without devices
}

// id returns what Progress calls the recipient.
func (r recipient) id() string {
	if r.device == nil {
		return "@" + r.channel.Name // no device's id begins with @
	}
	return r.device.ID
}

// recipients returns the remaining recipients of a claimed message.
func (h *Handler) recipients(ctx context.Context, claim messages.Claim, to *message.Target) ([]recipient, error) {
	var all []recipient
	add := func(r recipient) {
		if !claim.Progress.Done(r.id()) {
			all = append(all, r)
		}
	}
	for _, l := range h.PacedChannels {
		if !l.HasDevices && (to == nil || to.App == "" && to.Device == "" && (to.Channel == "" || to.Channel == l.Name)) {
			add(recipient{channel: l})
		}
	}
	list, err := devices.Decode(claim.Devices)
	if err != nil {
		return nil, err
	}
	for i := range list {
		d := &list[i]
		if !d.For(claim.Account) || to != nil && !isFor(*to, d) {
			continue
		}
		if l := h.channelOf(d.Channel); l != nil {
			add(recipient{channel: l, device: d})
		} else {
			h.Logger.WarnContext(ctx, "users have devices of a channel that is not set up here: nothing is sent to them",
				"channel", d.Channel)
		}
	}
	return all, nil
}

// isFor reports whether a message to a target goes to a device.
func isFor(to message.Target, d *devices.Device) bool {
	return (to.Channel == "" || to.Channel == d.Channel) && (to.App == "" || to.App == d.App) &&
		(to.Device == "" || to.Device == d.ID)
}

// channelOf returns a channel with devices, nil for an unknown name.
func (h *Handler) channelOf(channel string) *PacedChannel {
	for _, l := range h.PacedChannels {
		if l.HasDevices && l.Name == channel {
			return l
		}
	}
	return nil
}
