package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/device"
)

const devicesPath = userPath + "/devices"

// ownDevices documents which devices a key reaches.
const ownDevices = "A key without the scope admin reaches only the devices that its account registered."

func deviceParameter() *huma.Param {
	return &huma.Param{
		Name: "device", In: "path", Required: true, Example: "phone",
		Description: "The device's id: 1 to 64 of A-Z a-z 0-9 . _ -",
		Schema:      parameterSchema("device"),
	}
}

func (s *server) listDevicesRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listDevices", Method: http.MethodGet, Path: devicesPath, Tags: []string{"users"},
			Summary: "List a user's devices",
			Description: "Where messages of the user go. " + ownDevices + " Addresses are masked unless the key has the scope content. " +
				"Each such look is logged.",
			Parameters: []*huma.Param{userParameter()},
			Responses:  responses[message.Devices](s, "The devices. There may be none."),
		},
		scope: accounts.ScopeRead, do: s.listDevices,
	}
}

func (s *server) listDevices(r *http.Request, _ web.Query) (web.Answer, error) {
	user, who := r.PathValue("user"), callerOf(r.Context())
	list, err := s.devices.List(r.Context(), user)
	if err != nil {
		return web.Answer{}, err
	}
	whole := who.may(accounts.ScopeContent)
	answer := message.Devices{User: user, Devices: []message.Device{}}
	for _, d := range list {
		if !who.confined() || who.owns(d.Account) {
			answer.Devices = append(answer.Devices, device.Shown(d, whole))
		}
	}
	if whole && len(answer.Devices) > 0 {
		s.logDevices(r.Context(), user, len(answer.Devices))
	}
	return web.Done(answer), nil
}

// logDevices logs that the caller is shown addresses. Callers without a key are not logged.
func (s *server) logDevices(ctx context.Context, user string, shown int) {
	if who := callerOf(ctx); !who.keyless {
		s.logger.InfoContext(ctx, "addresses of devices shown", "account", who.account(), "key", who.identity.Key.ID,
			"user", user, "devices", shown, "request_id", requestID(ctx))
	}
}

func (s *server) addDeviceRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "addDevice", Method: http.MethodPost, Path: devicesPath, Tags: []string{"users"},
			Summary: "Register a device of a user",
			Description: "Call it each time that the app starts or gets another token: registering again is safe. The device belongs to the account " +
				"of the key, and takes the place of one of the account with the same id or the same address. An account registers at most 100 devices of a user, and " +
				"as many of all users as its tier says; one that is registered is registered again in any case.",
			Parameters:  []*huma.Param{userParameter()},
			RequestBody: jsonBody[message.DeviceDraft](s),
			Responses:   responses[message.DeviceChange](s, "Registered.", bodyProblems(http.StatusConflict)...),
		},
		scope: accounts.ScopeSubmit, do: s.addDevice,
	}
}

func (s *server) addDevice(r *http.Request, _ web.Query) (web.Answer, error) {
	user, who := r.PathValue("user"), callerOf(r.Context())
	var d devices.Device
	_, err := web.ReadBody(s.bodies(), r, func(draft message.DeviceDraft) (err error) {
		d, err = device.Parse(draft, who.account(), s.checkDevice)
		return err
	})
	if err == nil {
		err = s.submitter.StoreFull(r.Context(), len(d.Address))
	}
	if err != nil {
		return web.Answer{}, err
	}
	most := who.identity.Tier.Devices
	if who.keyless { // its tier is not known yet
		if most, err = s.charging(r.Context()).MaxDevices(r.Context()); err != nil {
			return web.Answer{}, err
		}
	}
	stored, change, err := s.devices.Add(r.Context(), user, d, most)
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(message.DeviceChange{Outcome: string(change), User: user, Device: device.Shown(stored, false)}), nil
}

func (s *server) removeDeviceRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "removeDevice", Method: http.MethodDelete, Path: devicesPath + "/{device}", Tags: []string{"users"},
			Summary:     "Remove a device of a user",
			Description: "No message goes to it from then on; one that is being sent may still arrive. " + ownDevices,
			Parameters:  []*huma.Param{userParameter(), deviceParameter()},
			Responses:   responses[message.DeviceRemoval](s, "Removed.", http.StatusNotFound),
		},
		scope: accounts.ScopeSubmit, do: s.removeDevice,
	}
}

func (s *server) removeDevice(r *http.Request, _ web.Query) (web.Answer, error) {
	user, id, who := r.PathValue("user"), r.PathValue("device"), callerOf(r.Context())
	var removed bool
	var err error
	if who.confined() {
		removed, err = s.devices.RemoveOf(r.Context(), who.account(), user, id)
	} else {
		removed, err = s.devices.Remove(r.Context(), user, id)
	}
	if err == nil && !removed {
		err = &fault.NoSuchError{What: "device", Name: id}
	}
	if err != nil {
		return web.Answer{}, err
	}
	return web.Done(message.DeviceRemoval{Outcome: message.DeviceRemoved, User: user, Device: id}), nil
}
