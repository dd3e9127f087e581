package submit

import (
	"context"
	"errors"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ChannelCheck checks the content of a message for a channel with devices, such as webpush. The
// error is a *fault.InvalidError if the channel could never deliver the message.
type ChannelCheck func(channel string, m message.Message) error

// smallContent is the largest encoded content, in bytes, that always fits every channel. The
// smallest limit of a provider is about 4,000 bytes; JSON escapes and a channel's other fields
// need less than the rest.
const smallContent = 2000

// channelChecker checks messages for the channels that they go to.
type channelChecker struct {
	checkChannel ChannelCheck // nil checks nothing
	devices      *devices.Store
}

// checkNamed checks a valid message for the channels that it names. The error is a
// *fault.InvalidError.
func (c channelChecker) checkNamed(m message.Message) error {
	if c.checkChannel == nil {
		return nil
	}
	for _, channel := range m.NamedChannels() {
		if err := c.checkChannel(channel, m); err != nil {
			return err
		}
	}
	return nil
}

// checkDevices checks a large message for the channels of its user's devices. unfit says why a
// channel could never deliver it, nil if all can. The other error is about the store.
func (c channelChecker) checkDevices(ctx context.Context, m message.Message, r sendlimit.Request) (unfit, err error) {
	m.ID = r.ID
	err = c.checkLarge(ctx, m, len(r.Record.Content))
	if invalid, ok := errors.AsType[*fault.InvalidError](err); ok {
		return invalid, nil
	}
	return nil, err
}

// check is checkNamed and checkDevices. size is that of the encoded content, in bytes. The
// error is a *fault.InvalidError, or about the store.
func (c channelChecker) check(ctx context.Context, m message.Message, size int) error {
	if err := c.checkNamed(m); err != nil {
		return err
	}
	return c.checkLarge(ctx, m, size)
}

func (c channelChecker) checkLarge(ctx context.Context, m message.Message, size int) error {
	if c.checkChannel == nil || size <= smallContent {
		return nil
	}
	all, err := c.devices.List(ctx, m.User)
	if err != nil {
		return err
	}
	checked := make(map[string]bool)
	for _, channel := range m.NamedChannels() {
		checked[channel] = true
	}
	for _, d := range all {
		if checked[d.Channel] || !reaches(m, d) {
			continue
		}
		checked[d.Channel] = true
		if err := c.checkChannel(d.Channel, m); err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether a message is sent to a device.
func reaches(m message.Message, d devices.Device) bool {
	if !d.For(m.Account) {
		return false
	}
	to := m.To
	return to == nil ||
		(to.Channel == "" || to.Channel == d.Channel) && (to.App == "" || to.App == d.App) && (to.Device == "" || to.Device == d.ID)
}
