package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// DeviceState is what became of a message on one device.
type DeviceState byte

// The states of a device that a message is done with. One that a message is still to go to has
// no state.
const (
	DeviceDelivered DeviceState = 'd'
	DeviceGone      DeviceState = 'g' // its provider knows it no more
	DeviceFailed    DeviceState = 'f' // its provider will never accept this message for it
	DeviceUncertain DeviceState = 'u' // it may have arrived, and is not sent again
)

// deviceStates lists every state, in the order above.
const deviceStates = "dgfu"

// String returns the state as outcomes show it.
func (s DeviceState) String() string {
	switch s {
	case DeviceDelivered:
		return "delivered"
	case DeviceGone:
		return "gone"
	case DeviceFailed:
		return "failed"
	case DeviceUncertain:
		return "uncertain"
	default:
		return fmt.Sprintf("state(%d)", byte(s))
	}
}

// DeviceDone is a device that a message is done with.
type DeviceDone struct {
	Device string // its id
	State  DeviceState
}

// Progress lists the devices that a message is done with. A message with progress that is
// tried again goes to the others only.
type Progress []DeviceDone

// Delivered reports whether the message reached a device. Then its place counts, however it ends.
func (p Progress) Delivered() bool {
	return slices.ContainsFunc(p, func(d DeviceDone) bool { return d.State == DeviceDelivered })
}

// Done reports whether the message is done with a device.
func (p Progress) Done(device string) bool {
	return slices.ContainsFunc(p, func(d DeviceDone) bool { return d.Device == device })
}

// check requires ids that Encode can spell, and known states. The error does not show them.
func (p Progress) check() error {
	for _, d := range p {
		if d.Device == "" || strings.ContainsFunc(d.Device, unicode.IsSpace) || strings.IndexByte(deviceStates, byte(d.State)) < 0 {
			return &fault.InvalidError{
				Field: "progress", Value: strconv.Itoa(len(p)) + " devices", Want: "ids without spaces, each with a state",
			}
		}
	}
	return nil
}

// Encode returns p for a record: for each device its state and its id, such as "dphone gtablet".
// Those it was delivered to come first. Ids of devices contain no space.
func (p Progress) Encode() string {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b DeviceDone) int {
		return strings.IndexByte(deviceStates, byte(a.State)) - strings.IndexByte(deviceStates, byte(b.State))
	})
	var text strings.Builder
	for i, d := range sorted {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteByte(byte(d.State))
		text.WriteString(d.Device)
	}
	return text.String()
}

// ParseProgress reads what Encode returned. What it can't read is left out: the message then
// goes to that device again.
func ParseProgress(text string) Progress {
	var p Progress
	for word := range strings.FieldsSeq(text) {
		if len(word) > 1 && strings.IndexByte(deviceStates, word[0]) >= 0 {
			p = append(p, DeviceDone{Device: word[1:], State: DeviceState(word[0])})
		}
	}
	return p
}
