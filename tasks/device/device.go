package device

import (
	"encoding/json"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Check checks whether a channel delivers to an address. The error is a *fault.InvalidError about
// the field address, and does not show it.
type Check func(channel, address string) error

// Parse returns the device that an account registers with a draft, complete as devices.Complete
// makes it. The account is "" for none, and check nil. The error is a *fault.InvalidError about a
// field of the draft, and does not show the address.
func Parse(d message.DeviceDraft, account string, check Check) (devices.Device, error) {
	field, address, err := addressOf(d)
	if err != nil {
		return devices.Device{}, err
	}
	completed, err := devices.Complete(devices.Device{
		ID: d.ID, Channel: d.Channel, App: d.App, Account: account, Address: address, Locale: d.Locale,
	})
	if err == nil && check != nil {
		err = check(completed.Channel, completed.Address)
	}
	if wrong, invalid := err.(*fault.InvalidError); invalid && wrong.Field == "address" { //nolint:errorlint // never wrapped
		return devices.Device{}, fault.Wrong(field, "%s is not valid: it must be %s", field, wrong.Want)
	}
	return completed, err
}

// addressOf returns the address of a draft, and the field that has it.
func addressOf(d message.DeviceDraft) (field, address string, err error) {
	switch {
	case d.Channel == devices.WebPush && d.Token != "":
		return "", "", fault.Wrong("token", "a device of webpush has no token: give its subscription")
	case d.Channel == devices.WebPush && len(d.Subscription) == 0:
		return "", "", fault.Wrong("subscription", "subscription is required with the channel webpush")
	case len(d.Subscription) > message.MaxSubscription:
		return "", "", fault.Wrong("subscription", "subscription has %d members: it has at most %d", len(d.Subscription), message.MaxSubscription)
	case d.Channel == devices.WebPush:
		text, err := json.Marshal(d.Subscription)
		if err != nil {
			return "", "", fault.Wrong("subscription", "subscription can't be written as JSON")
		}
		return "subscription", string(text), nil
	case d.Channel != devices.FCM && d.Channel != devices.APNs:
		return "", "", &fault.InvalidError{Field: "channel", Value: d.Channel, Want: "fcm, apns or webpush"}
	case len(d.Subscription) > 0:
		return "", "", fault.Wrong("subscription", "a device of %s has no subscription: give its token", d.Channel)
	case d.Token == "":
		return "", "", fault.Wrong("token", "token is required with the channel %s", d.Channel)
	default:
		return "token", d.Token, nil
	}
}

// Shown returns a device as callers see it, with its address or masked.
func Shown(d devices.Device, whole bool) message.Device {
	address := d.Address
	if !whole {
		address = message.MaskAddress(address)
	}
	return message.Device{
		ID: d.ID, Channel: d.Channel, App: d.App, Account: d.Account, Address: address, Locale: d.Locale,
		RegisteredAt: message.Time{Time: d.RegisteredAt}, LastSuccess: message.Time{Time: d.LastSuccess}, Suspect: d.Suspect,
	}
}
