package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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

type writtenFCM struct {
	Credentials     string `env:"CREDENTIALS"`
	CredentialsFile string `env:"CREDENTIALS_FILE"`
	Endpoint        string `env:"ENDPOINT"`
}

type writtenAPNs struct {
	Key         string `env:"KEY"`
	KeyFile     string `env:"KEY_FILE"`
	KeyID       string `env:"KEY_ID"`
	TeamID      string `env:"TEAM_ID"`
	Topic       string `env:"TOPIC"`
	Topics      string `env:"TOPICS"`
	Sandbox     string `env:"SANDBOX"`
	Connections string `env:"CONNECTIONS"`
	Endpoint    string `env:"ENDPOINT"`
}

type writtenWebPush struct {
	PrivateKey     string `env:"PRIVATE_KEY"`
	PrivateKeyFile string `env:"PRIVATE_KEY_FILE"`
	Subject        string `env:"SUBJECT"`
	Hosts          string `env:"HOSTS"`
	AllowInternal  string `env:"ALLOW_INTERNAL"`
}

// channelSettings returns the rows of the table about channels that deliver to devices.
func channelSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "fcm.credentials", written: &w.FCM.Credentials,
			accept: secretText(&c.FCM.Credentials), show: hideSecret,
		},
		{
			key: "fcm.credentials_file", written: &w.FCM.CredentialsFile, kind: "file",
			help:   "service account of a Firebase project, in JSON; devices of the channel fcm get pushes through it",
			accept: text(&c.FCM.CredentialsFile),
		},
		{
			key: "fcm.endpoint", written: &w.FCM.Endpoint, kind: "url",
			help:   "server of the channel fcm, if it is not Google's",
			accept: endpoint(&c.FCM.Endpoint), show: redactURL,
		},
		{
			key: "apns.key", written: &w.APNs.Key,
			accept: secretText(&c.APNs.Key), show: hideSecret,
		},
		{
			key: "apns.key_file", written: &w.APNs.KeyFile, kind: "file",
			help:   "signing key of Apple's push service, a .p8 file; devices of the channel apns get pushes with it",
			accept: text(&c.APNs.KeyFile),
		},
		{
			key: "apns.key_id", written: &w.APNs.KeyID, kind: "id",
			help:   "id of that key",
			accept: text(&c.APNs.KeyID),
		},
		{
			key: "apns.team_id", written: &w.APNs.TeamID, kind: "id",
			help:   "id of the team that the key belongs to",
			accept: text(&c.APNs.TeamID),
		},
		{
			key: "apns.topic", written: &w.APNs.Topic, kind: "bundle",
			help:   "bundle id of the app, such as com.example.shop",
			accept: text(&c.APNs.Topic),
		},
		{
			key: "apns.topics", written: &w.APNs.Topics, kind: "list", list: true,
			help:   "bundle ids of further apps, by the app of a device, such as driver=com.example.driver",
			accept: topics(&c.APNs.Topics),
		},
		{
			key: "apns.sandbox", written: &w.APNs.Sandbox, standard: "false", kind: "bool",
			help:   "push to apps that are signed for development",
			accept: boolean(&c.APNs.Sandbox),
		},
		{
			key: "apns.connections", written: &w.APNs.Connections, standard: "4", kind: "number",
			help:   "most connections to Apple; each carries many pushes at a time",
			accept: number(&c.APNs.Connections, 1, 100),
		},
		{
			key: "apns.endpoint", written: &w.APNs.Endpoint, kind: "url",
			help:   "server of the channel apns, if it is not Apple's",
			accept: endpoint(&c.APNs.Endpoint), show: redactURL,
		},
		{
			key: "webpush.private_key", written: &w.WebPush.PrivateKey,
			accept: secretText(&c.WebPush.PrivateKey), show: hideSecret,
		},
		{
			key: "webpush.private_key_file", written: &w.WebPush.PrivateKeyFile, kind: "file",
			help:   "private VAPID key, as worker channel keys prints it; browsers get pushes with it",
			accept: text(&c.WebPush.PrivateKeyFile),
		},
		{
			key: "webpush.subject", written: &w.WebPush.Subject, kind: "contact",
			help:   "whom push services ask if something goes wrong: an e-mail address or an https URL",
			accept: text(&c.WebPush.Subject),
		},
		{
			key: "webpush.hosts", written: &w.WebPush.Hosts, kind: "list", list: true,
			help:   "hosts that are pushed to, such as *.push.example.com; by default the push services of browsers",
			accept: list(&c.WebPush.Hosts),
		},
		{
			key: "webpush.allow_internal", written: &w.WebPush.AllowInternal, standard: "false", kind: "bool",
			help:   "allow push hosts at loopback, private or other internal addresses",
			accept: boolean(&c.WebPush.AllowInternal),
		},
	}
}

// endpoint accepts the https URL of a server, and on loopback an http URL too.
func endpoint(into *string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" ||
			u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return takes("an https URL of a host, such as https://push.example.com; on loopback http is allowed")
		}
		*into = strings.TrimSuffix(s, "/")
		return nil
	}
}

// list accepts a list of words with commas between them.
func list(into *[]string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		*into = words(s)
		return nil
	}
}

// topics accepts a list of APP=BUNDLE with commas between them.
func topics(into *map[string]string) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		list := words(s)
		if len(list) == 0 {
			return nil
		}
		found := make(map[string]string, len(list))
		for _, word := range list {
			app, bundle, ok := strings.Cut(word, "=")
			if !ok || app == "" || bundle == "" {
				return &fault.InvalidError{Value: word, Want: "a list of APP=BUNDLE such as driver=com.example.driver"}
			}
			found[app] = bundle
		}
		*into = found
		return nil
	}
}

// credentialsOnce are the checks that credentials are given in one place.
func credentialsOnce() []Check {
	var checks []Check
	once := func(given func(Config) (Secret, string), text, file string) {
		checks = append(checks, func(c Config) *fault.InvalidError {
			if secret, name := given(c); secret == "" || name == "" {
				return nil
			}
			return fault.Wrong(file, "%s and %s are both given: give one of them", text, file)
		})
	}
	once(func(c Config) (Secret, string) { return c.FCM.Credentials, c.FCM.CredentialsFile }, "fcm.credentials", "fcm.credentials_file")
	once(func(c Config) (Secret, string) { return c.APNs.Key, c.APNs.KeyFile }, "apns.key", "apns.key_file")
	once(func(c Config) (Secret, string) { return c.PushSecret, c.PushSecretFile }, "push_secret", "push_secret_file")
	once(func(c Config) (Secret, string) { return c.SMTPPassword, c.SMTPPasswordFile }, "smtp_password", "smtp_password_file")
	once(func(c Config) (Secret, string) { return c.AlertSecret, c.AlertSecretFile }, "alert_secret", "alert_secret_file")
	once(func(c Config) (Secret, string) { return c.WebPush.PrivateKey, c.WebPush.PrivateKeyFile }, "webpush.private_key", "webpush.private_key_file")
	return checks
}
