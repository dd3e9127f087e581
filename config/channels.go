package config

import (
	"maps"
	"slices"
)

// FCM has the settings of the channel fcm. It is used if one of the first two is set.
type FCM struct {
	Credentials     Secret // the JSON of a service account
	CredentialsFile string // a file with it, which is read again when it changes
	Endpoint        string // "" for Google's
}

// Set reports whether the channel is used.
func (c FCM) Set() bool { return c.Credentials != "" || c.CredentialsFile != "" }

// APNs has the settings of the channel apns. It is used if one of the first two is set.
type APNs struct {
	Key     Secret // the signing key, as Apple's .p8 file has it
	KeyFile string // a file with it, which is read again when it changes
	KeyID   string
	TeamID  string
	Topic   string // the bundle id of the app
	// Topics are the bundle ids of further apps, by the app of a device.
	Topics      map[string]string
	Sandbox     bool   // the app is signed for development
	Connections int    // at most, to Apple
	Endpoint    string // "" for Apple's
}

// Set reports whether the channel is used.
func (c APNs) Set() bool { return c.Key != "" || c.KeyFile != "" }

// AllTopics returns every bundle id; nil if none is given.
func (c APNs) AllTopics() []string {
	all := slices.Sorted(maps.Values(c.Topics))
	if c.Topic != "" {
		all = append(all, c.Topic)
	}
	return all
}

// WebPush has the settings of the channel webpush. It is used if one of the first two is set.
type WebPush struct {
	PrivateKey     Secret // the private VAPID key, in base64url
	PrivateKeyFile string // a file with it, which is read again when it changes
	Subject        string // whom push services ask: an e-mail address or an https URL
	// Hosts are the hosts that are pushed to; empty for the push services of browsers.
	Hosts         []string
	AllowInternal bool // whether they may have internal addresses
}

// Set reports whether the channel is used.
func (c WebPush) Set() bool { return c.PrivateKey != "" || c.PrivateKeyFile != "" }

// HasDeviceChannel reports whether a channel is used that delivers to devices of users.
func (c Config) HasDeviceChannel() bool { return c.FCM.Set() || c.APNs.Set() || c.WebPush.Set() }
