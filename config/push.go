package config

import "time"

// pushSettings returns the rows of the table about what a worker does, and about the push target.
func pushSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "deliver", written: &w.Deliver, standard: "true", kind: "bool",
			help:   "deliver messages; with false the process only serves the API and needs no push target",
			accept: boolean(&c.Deliver),
		},
		{
			key: "relay", written: &w.Relay, kind: "bool",
			help:   "hand messages over to the queue when they are due soon; by default as deliver, and one process on a store has to",
			accept: oneOf(&c.Relay, "true", "false"),
		},
		{
			key: "dashboard", written: &w.Dashboard, standard: "true", kind: "bool",
			help:   "serve the dashboard at /, beside the API; it asks for a login where the API asks for a key",
			accept: boolean(&c.Dashboard),
		},
		{
			key: "push_url", written: &w.PushURL, kind: "url",
			help:   "where deliveries go: an http or https URL, the URL of a service such as ntfy://ntfy.sh/topic, or log: to print one line each on standard output",
			accept: pushURL(&c.PushURL), show: redactPushURL,
		},
		{
			key: "push_secret", written: &w.PushSecret, list: true,
			accept: pushSecret(&c.PushSecret), show: hideSecret,
		},
		{
			key: "push_secret_file", written: &w.PushSecretFile, kind: "file",
			help:   "file with the secret that signs deliveries to push_url, or with two, which is read again when it changes",
			accept: text(&c.PushSecretFile),
		},
		{
			key: "push_timeout", written: &w.PushTimeout, standard: "10s", kind: "duration",
			help:   "timeout of one delivery, also to a contact's webhook; e-mail has the timeouts of RFC 5321",
			accept: duration(&c.PushTimeout, 100*time.Millisecond, 5*time.Minute),
		},
		{
			key: "push_headers", written: &w.PushHeaders,
			accept: secretText(&c.PushHeaders), show: hideSecret,
		},
		{
			key: "push_proxy", written: &w.PushProxy, kind: "url",
			help:   "proxy to an http or https push_url: the URL of one, or environment to follow HTTPS_PROXY; by default none",
			accept: text(&c.PushProxy), show: redactPushURL,
		},
	}
}
