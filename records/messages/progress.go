package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// DeviceState is the state of a message on one device.
type DeviceState byte

// The states of a device for which a message has ended.
const (
	DeviceDelivered DeviceState = 'd'
	DeviceGone      DeviceState = 'g' // its provider no longer knows it
	DeviceFailed    DeviceState = 'f' // its provider will never accept this message for it
	DeviceUncertain DeviceState = 'u' // the message may have arrived, and is not sent again
)

// deviceStates has all states, in the order above.
const deviceStates = "dgfu"

// String returns the state for outcomes.
func (s DeviceState) String() string {
	if i := strings.IndexByte(deviceStates, byte(s)); i >= 0 {
		return [...]string{"delivered", "gone", "failed", "uncertain"}[i]
	}
	return fmt.Sprintf("state(%d)", byte(s))
}

// DeviceDone is a device for which a message has ended.
type DeviceDone struct {
	Device string // its id
	State  DeviceState
}

// Progress lists the devices for which a message has ended. A retry sends it only to the others.
type Progress []DeviceDone

// Delivered reports whether the message reached a device. Then its place counts, however it ends.
func (p Progress) Delivered() bool {
	return slices.ContainsFunc(p, func(d DeviceDone) bool { return d.State == DeviceDelivered })
}

// Done reports whether the message has ended for a device.
func (p Progress) Done(device string) bool {
	return slices.ContainsFunc(p, func(d DeviceDone) bool { return d.Device == device })
}

// check checks the ids and states. The error does not show them.
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

// Encode returns p for a record: the state and id of each device, such as "dphone gtablet",
// delivered ones first. Ids contain no space.
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

// ParseProgress reads the result of Encode. It omits a device that it can't read: the message is
// sent to it again.
func ParseProgress(text string) Progress {
	var p Progress
	for word := range strings.FieldsSeq(text) {
		if len(word) > 1 && strings.IndexByte(deviceStates, word[0]) >= 0 {
			p = append(p, DeviceDone{Device: word[1:], State: DeviceState(word[0])})
		}
	}
	return p
}
