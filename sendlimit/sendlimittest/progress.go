package sendlimittest

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/messages"
)

// The devices of CheckMessages: the user's devices, and a message's outcomes on them.

// reasonNoDevice is why a message is dropped that goes to no device.
const reasonNoDevice = "no_device"

// storeDevices gives the user devices, or none.
func (m *mailbox) storeDevices(t *rapid.T) {
	m.devices = rapid.SampledFrom([]string{"", "packed devices"}).Draw(t, "devices")
	if m.devices != "" {
		require.NoError(t, m.client.Set(t.Context(), m.keys.Devices(mailboxUser), m.devices, 0).Err())
	}
	if !m.options.Devices {
		m.devices = "" // a gate without the option does not read them
	}
}

// drawProgress draws the devices of a settlement: none, or those that were done before and perhaps
// more.
func (m *mailbox) drawProgress(t *rapid.T, known *message) messages.Progress {
	if rapid.IntRange(0, 2).Draw(t, "to devices") == 2 {
		return nil
	}
	var p messages.Progress
	if known != nil {
		p = slices.Clone(known.progress)
	}
	for _, device := range []string{"tablet", "phone", "@log"} {
		state := rapid.SampledFrom([]messages.DeviceState{
			0, 0, messages.DeviceGone, messages.DeviceGone, messages.DeviceFailed, messages.DeviceUncertain, messages.DeviceDelivered,
		}).Draw(t, device)
		if state != 0 && !p.Done(device) {
			p = append(p, messages.DeviceDone{Device: device, State: state})
		}
	}
	return p
}

// proceed records a message's outcomes on devices, unless they are not new.
func (m *message) proceed(p messages.Progress) {
	if len(p) > 0 {
		m.progress = inStates(p, messages.DeviceDelivered, messages.DeviceGone, messages.DeviceFailed, messages.DeviceUncertain)
	}
}

// beginAnew lets a message go to all devices again but those that have it, and those that are
// gone.
func (m *message) beginAnew() {
	m.progress = inStates(m.progress, messages.DeviceDelivered, messages.DeviceGone)
}

// inStates returns the devices in one of some states, in the order of these.
func inStates(p messages.Progress, states ...messages.DeviceState) messages.Progress {
	var in messages.Progress
	for _, state := range states {
		for _, d := range p {
			if d.State == state {
				in = append(in, d)
			}
		}
	}
	return in
}

// reached reports whether the message reached a device.
func (m *message) reached() bool {
	return len(inStates(m.progress, messages.DeviceDelivered)) > 0
}

// waitsForRules reports whether the message is pending and may still get another place.
func (m *message) waitsForRules() bool { return m.state == pending && !m.reached() }

// progressField spells the field of a record that has the devices.
func (m *message) progressField() string {
	var words []string
	for _, d := range m.progress {
		words = append(words, string(rune(d.State))+d.Device)
	}
	return strings.Join(words, " ")
}

// stop ends the message of a claim that reached a device: it is not tried on the others.
func (m *mailbox) stop(known *message, nonce, reason string, c messages.Claim) messages.Claim {
	known.end(delivered, reason, m.now)
	known.stopped = true
	m.noteEnd(known, "")
	known.addClaim(nonce)
	c.Verdict, c.SendAt, c.Reason = messages.Reached, known.at, reason
	return c
}
