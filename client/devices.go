package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Device is where messages of a user go: an app on a phone, or a browser.
	Device = message.Device
	// DeviceList lists the devices of a user.
	DeviceList = message.Devices
	// DeviceDraft is a device to register.
	DeviceDraft = message.DeviceDraft
	// DeviceChange is a device that was registered, and what became of it.
	DeviceChange = message.DeviceChange
	// DeviceRemoval is a device that was removed.
	DeviceRemoval = message.DeviceRemoval
)

// The outcomes of a device that was registered.
const (
	DeviceAdded     = message.DeviceAdded
	DeviceReplaced  = message.DeviceReplaced // it took the place of one with its id or its address
	DeviceUnchanged = message.DeviceUnchanged
)

// Devices returns the devices of a user that the key's account registered, with the scope
// admin those of all accounts. There may be none. Addresses are masked unless the key has the
// scope content.
func (c *Client) Devices(ctx context.Context, user string) (DeviceList, error) {
	var list DeviceList
	err := c.callDevices(ctx, call{doing: "listing a user's devices", method: http.MethodGet}, user, nil, &list)
	return list, err
}

// AddDevice registers a device of a user. Registering it again is safe.
func (c *Client) AddDevice(ctx context.Context, user string, d DeviceDraft) (DeviceChange, error) {
	var change DeviceChange
	err := c.callDevices(ctx, call{doing: "registering a device", method: http.MethodPost}, user, d, &change)
	return change, err
}

// RemoveDevice removes a device of a user. The error is ErrNotFound if there is none of the
// id, also if an earlier try, whose answer got lost, removed it.
func (c *Client) RemoveDevice(ctx context.Context, user, id string) (DeviceRemoval, error) {
	var removal DeviceRemoval
	what := call{doing: "removing a device", method: http.MethodDelete}
	if id == "" {
		return removal, fmt.Errorf("%s: %w", what.doing, invalid("device", "is missing"))
	}
	err := c.callDevices(ctx, what, user, nil, &removal, segment(id))
	return removal, err
}

func (c *Client) callDevices(ctx context.Context, what call, user string, body, into any, rest ...string) error {
	path, err := userPath(user, append([]string{"devices"}, rest...)...)
	if err != nil {
		return fmt.Errorf("%s: %w", what.doing, err)
	}
	what.path = path
	if what, err = what.with(body); err != nil {
		return err
	}
	return c.do(ctx, what, into)
}
