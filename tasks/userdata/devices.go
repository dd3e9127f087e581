package userdata

import (
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/tasks/device"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func devicesOf(found []devices.Device) []message.Device {
	var all []message.Device
	for _, d := range found {
		all = append(all, device.Shown(d, true))
	}
	return all
}
