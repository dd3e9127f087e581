package config

import (
	"maps"
	"slices"
)

// FCM has the settings of the channel fcm. The channel is used if credentials or their file are
// set.
type FCM struct {
	Credentials     Secret // the JSON of a service account
	CredentialsFile string // a file with them; it is read again when it changes
	Endpoint        string // "" for Google's
}

// Set reports whether the channel is used.
func (c FCM) Set() bool { return c.Credentials != "" || c.CredentialsFile != "" }

// APNs has the settings of the channel apns. The channel is used if the key or its file is set.
type APNs struct {
	Key     Secret // the signing key: the text of Apple's .p8 file
	KeyFile string // a file with the key; it is read again when it changes
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

// AllTopics returns all bundle ids; nil if there are none.
func (c APNs) AllTopics() []string {
	all := slices.Sorted(maps.Values(c.Topics))
	if c.Topic != "" {
		all = append(all, c.Topic)
	}
	return all
}

// WebPush has the settings of the channel webpush. The channel is used if the key or its file is
// set.
type WebPush struct {
	PrivateKey     Secret // the private VAPID key, in base64url
	PrivateKeyFile string // a file with the key; it is read again when it changes
	Subject        string // the contact for push services: an e-mail address or an https URL
	// Hosts are the allowed push hosts; empty for the push services of browsers.
	Hosts         []string
	AllowInternal bool // allow hosts with internal addresses
}

// Set reports whether the channel is used.
func (c WebPush) Set() bool { return c.PrivateKey != "" || c.PrivateKeyFile != "" }

// HasDeviceChannel reports whether any channel delivers to devices.
func (c Config) HasDeviceChannel() bool { return c.FCM.Set() || c.APNs.Set() || c.WebPush.Set() }
