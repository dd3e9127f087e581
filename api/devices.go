package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/device"
)

const devicesPath = userPath + "/devices"

// ownDevices documents which devices a key reaches.
const ownDevices = "A key without the scope admin reaches only the devices that its account registered."

func (s *server) deviceRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listDevices", http.MethodGet, devicesPath, "users",
				"List a user's devices",
				"Lists the devices that get the user's messages. "+ownDevices+" Addresses are masked unless the key has the scope content. "+
					"Each such access is logged."),
			scope: accounts.ScopeRead, says: "The devices, possibly none.",
		}, s.listDevices),
		operation(s, route{
			Operation: named("addDevice", http.MethodPost, devicesPath, "users",
				"Register a device of a user",
				"Call it whenever the app starts or gets another token: registering again is safe. The device belongs to the account "+
					"of the key, and replaces a device of the account with the same id or the same address. An account registers at most 100 devices of a user, and "+
					"at most as many of all users as its tier allows; a registered device can always be registered again. A phone has one user at a time: other users of "+
					"the account lose the address, and so do devices without an account. A caller without an account takes it from all "+
					"accounts. With the server's setting shared_devices nobody loses it."),
			scope: accounts.ScopeSubmit, says: "Registered.", refuses: []int{http.StatusConflict},
		}, s.addDevice),
		operation(s, route{
			Operation: named("removeDevice", http.MethodDelete, devicesPath+"/{device}", "users",
				"Remove a device of a user",
				"It gets no more messages; one that is being sent may still arrive. "+ownDevices),
			scope: accounts.ScopeSubmit, says: "Removed.", refuses: []int{http.StatusNotFound},
		}, s.removeDevice),
	}
}

// logDevices logs that the caller sees addresses. Callers without a key are not logged.
func (s *server) logDevices(ctx context.Context, user string, shown int) {
	if who := callerOf(ctx); !who.keyless {
		s.Logger.InfoContext(ctx, "addresses of devices shown", "account", who.account(), "key", who.identity.Key.ID,
			"user", user, "devices", shown)
	}
}

func (s *server) listDevices(ctx context.Context, in ofUser) (message.Devices, error) {
	answer, who := message.Devices{User: in.User, Devices: []message.Device{}}, callerOf(ctx)
	list, err := s.Devices.List(ctx, in.User)
	whole := who.may(accounts.ScopeContent)
	for _, d := range list {
		if !who.confined() || who.owns(d.Account) {
			answer.Devices = append(answer.Devices, device.Shown(d, whole))
		}
	}
	if whole && len(answer.Devices) > 0 {
		s.logDevices(ctx, in.User, len(answer.Devices))
	}
	return answer, err
}

type newDevice struct {
	ofUser

	Body   object[message.DeviceDraft]
	device devices.Device
}

func (in *newDevice) check(ctx context.Context, s *server) (err error) {
	in.device, err = device.Parse(in.Body.value, callerOf(ctx).account(), s.CheckDevice)
	return err
}

func (s *server) addDevice(ctx context.Context, in newDevice) (message.DeviceChange, error) {
	if err := s.Submitter.StoreFull(ctx, len(in.device.Address)); err != nil {
		return message.DeviceChange{}, err
	}
	who := callerOf(ctx)
	most := who.identity.Tier.Devices
	if who.keyless { // its tier is not known yet
		var err error
		if most, err = s.charging(ctx).MaxDevices(ctx); err != nil {
			return message.DeviceChange{}, err
		}
	}
	r, err := s.Devices.Add(ctx, in.User, in.device, most)
	return message.DeviceChange{Outcome: string(r.Change), User: in.User, Device: device.Shown(r.Device, false), MovedFrom: r.Moved}, err
}

type ofDevice struct {
	ofUser

	Device string `path:"device"`
}

func (s *server) removeDevice(ctx context.Context, in ofDevice) (message.DeviceRemoval, error) {
	remove := func() (bool, error) { return s.Devices.Remove(ctx, in.User, in.Device) }
	if who := callerOf(ctx); who.confined() {
		remove = func() (bool, error) { return s.Devices.RemoveOf(ctx, who.account(), in.User, in.Device) }
	}
	removed, err := remove()
	if err == nil && !removed {
		err = &fault.NoSuchError{What: "device", Name: in.Device}
	}
	return message.DeviceRemoval{Outcome: message.DeviceRemoved, User: in.User, Device: in.Device}, err
}
