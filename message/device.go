package message

import (
	"encoding/json"
	"net/url"
	"strings"
)

// What became of a device. Those of a line of a file may also be Invalid, Refused and Errored.
const (
	DeviceAdded     = "added"
	DeviceReplaced  = "replaced"
	DeviceUnchanged = "unchanged"
	DeviceRemoved   = "removed"
)

// DeviceDraft is the request to register a device of a user.
type DeviceDraft struct {
	ID           string         `json:"id,omitempty" doc:"1 to 64 of A-Z a-z 0-9 . _ - By default it is made of account, channel and address, so that registering again is safe."`
	Channel      string         `json:"channel" doc:"fcm, apns or webpush."`
	Token        string         `json:"token,omitempty" doc:"Of fcm and apns: the token that the app got. It is a secret."`
	Subscription map[string]any `json:"subscription,omitempty" doc:"Of webpush: the browser's PushSubscription, as its toJSON returns it, with endpoint and keys. It is a secret."`
	App          string         `json:"app,omitempty" doc:"Which of the caller's apps it is, 1 to 64 of A-Z a-z 0-9 . _ - Messages can be sent to one app."`
	Locale       string         `json:"locale,omitempty" doc:"The language of the device: a tag such as de or pt-BR."`
}

// MaxSubscription is how many members a subscription may have. Browsers' have three.
const MaxSubscription = 16

// Device is where messages of a user go.
type Device struct {
	ID           string `json:"id" doc:"Unique among the devices of the user."`
	Channel      string `json:"channel" doc:"fcm, apns or webpush. More may be added."`
	App          string `json:"app,omitempty" doc:"Which app it is; absent if the caller named none."`
	Account      string `json:"account,omitempty" doc:"The account that registered it, whose messages go to it; absent for one that messages of all accounts go to."`
	Address      string `json:"address,omitempty" doc:"The token, or the subscription as JSON. Masked, unless the key has the scope content: the end of a token, or the host of a subscription."`
	Locale       string `json:"locale,omitempty" doc:"The language of the device; absent if unknown."`
	RegisteredAt Time   `json:"registered_at" doc:"When it was registered last, to the second."`
	LastSuccess  Time   `json:"last_success,omitzero" doc:"The hour in which its provider last accepted a push; absent if none was."`
	Suspect      bool   `json:"suspect,omitempty" doc:"Its provider called it gone when too many devices were gone at once; absent if not."`
}

// Devices are the devices of a user.
type Devices struct {
	User    string   `json:"user" doc:"The user's name."`
	Devices []Device `json:"devices" doc:"In the order in which they were added."`
}

// DeviceChange is the answer to a device that was registered.
type DeviceChange struct {
	Outcome string `json:"outcome" doc:"added; replaced for one that took the place of a device with its id or its address; unchanged for one that was there."`
	User    string `json:"user" doc:"The user's name."`
	Device  Device `json:"device" doc:"The device as it is now."`
	// MovedFrom is how many other users lost the address.
	MovedFrom int `json:"moved_from,omitempty" doc:"How many other users had the address until now. It is no longer theirs. Absent for none."`
}

// DeviceRemoval is the answer to a device that was removed.
type DeviceRemoval struct {
	Outcome string `json:"outcome" doc:"removed"`
	User    string `json:"user" doc:"The user's name."`
	Device  string `json:"device" doc:"The id of the device."`
}

// MaskAddress returns an address so that a person recognizes it, and nobody can use it: the
// end of a token, or the host of a subscription. A masked address stays as it is.
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
	const shown, least = 6, 32 // of a shorter token nothing is shown
	if len(address) < least {
		return "…"
	}
	return "…" + address[len(address)-shown:]
}
