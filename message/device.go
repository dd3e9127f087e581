package message

import (
	"encoding/json"
	"net/url"
	"strings"
)

// Outcomes for a device. A line of a file may also be Invalid, Refused or Errored.
const (
	DeviceAdded     = "added"
	DeviceReplaced  = "replaced"
	DeviceUnchanged = "unchanged"
	DeviceRemoved   = "removed"
)

// DeviceDraft is the request to register a device of a user.
type DeviceDraft struct {
	ID           string         `json:"id,omitempty" doc:"1 to 64 of A-Z a-z 0-9 . _ - By default it is derived from account, channel and address, so that registering again is safe."`
	Channel      string         `json:"channel" doc:"fcm, apns or webpush."`
	Token        string         `json:"token,omitempty" doc:"For fcm and apns: the token that the app received. It is a secret."`
	Subscription map[string]any `json:"subscription,omitempty" doc:"For webpush: the browser's PushSubscription, as its toJSON returns it, with endpoint and keys. It is a secret."`
	App          string         `json:"app,omitempty" doc:"The name of the app, 1 to 64 of A-Z a-z 0-9 . _ - Messages can be sent to one app."`
	Locale       string         `json:"locale,omitempty" doc:"The language of the device: a tag such as de or pt-BR."`
}

// MaxSubscription is the maximum number of members of a subscription. Browsers send three.
const MaxSubscription = 16

// Device is a device of a user.
type Device struct {
	ID           string `json:"id" doc:"Unique among the devices of the user."`
	Channel      string `json:"channel" doc:"fcm, apns or webpush. More may be added."`
	App          string `json:"app,omitempty" doc:"The name of the app; absent if the caller named none."`
	Account      string `json:"account,omitempty" doc:"The account that registered it, and whose messages it receives; absent if it receives those of all accounts."`
	Address      string `json:"address,omitempty" doc:"The token, or the subscription as JSON. Without the scope content only the end of a token or the host of a subscription is shown."`
	Locale       string `json:"locale,omitempty" doc:"The language of the device; absent if unknown."`
	RegisteredAt Time   `json:"registered_at" doc:"When it was last registered, to the second."`
	LastSuccess  Time   `json:"last_success,omitzero" doc:"The hour in which its provider last accepted a push; absent if never."`
	Suspect      bool   `json:"suspect,omitempty" doc:"Its provider called it gone when too many devices were gone at once."`
}

// Devices are the devices of a user.
type Devices struct {
	User    string   `json:"user" doc:"The user's name."`
	Devices []Device `json:"devices" doc:"In the order in which they were added."`
}

// DeviceChange is the answer to a request to register a device.
type DeviceChange struct {
	Outcome string `json:"outcome" doc:"added; replaced if a device had the same id or address; unchanged if it was registered already."`
	User    string `json:"user" doc:"The user's name."`
	Device  Device `json:"device" doc:"The device after the change."`
	// MovedFrom is how many other users lost the address.
	MovedFrom int `json:"moved_from,omitempty" doc:"How many other users had the address until now. It is no longer theirs. Absent for none."`
}

// DeviceRemoval is the answer to a request to remove a device.
type DeviceRemoval struct {
	Outcome string `json:"outcome" doc:"removed"`
	User    string `json:"user" doc:"The user's name."`
	Device  string `json:"device" doc:"The id of the device."`
}

// MaskAddress returns a part of an address that a person recognizes and nobody can use: the end of
// a token, or the host of a subscription. A masked address stays unchanged.
func MaskAddress(address string) string {
	if strings.Contains(address, "…") { // no address has it
		return address
	}
	var subscription struct {
		Endpoint string `json:"endpoint"`
	}
	if json.Unmarshal([]byte(address), &subscription) == nil {
		if endpoint, err := url.Parse(subscription.Endpoint); err == nil && endpoint.Host != "" {
			return "https://" + endpoint.Host + "/…"
		}
	}
	const shown, least = 6, 32 // a shorter token is hidden completely
	if len(address) < least {
		return "…"
	}
	return "…" + address[len(address)-shown:]
}
