package config

import "time"

// writtenCallbacks has the settings about the callbacks of accounts, as written.
type writtenCallbacks struct {
	EventsAllowInternal string `env:"EVENTS_ALLOW_INTERNAL"`
	EventsGiveUp        string `env:"EVENTS_GIVE_UP"`
	EventsRate          string `env:"EVENTS_RATE"`
}

// callbackSettings returns the rows of the table about the callbacks of accounts.
func callbackSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "events_allow_internal", written: &w.Callbacks.EventsAllowInternal, standard: "false", kind: "bool",
			help:   "allow callback URLs of accounts that are http, or at loopback, private or other internal addresses",
			accept: boolean(&c.EventsAllowInternal),
		},
		{
			key: "events_give_up", written: &w.Callbacks.EventsGiveUp, standard: "1d", kind: "duration",
			help:   "how long an event is tried at a callback before it becomes a dead event",
			accept: duration(&c.EventsGiveUp, time.Minute, 30*24*time.Hour),
		},
		{
			key: "events_rate", written: &w.Callbacks.EventsRate, standard: "10", kind: "number",
			help:   "most requests a second to the callback of an account, of all workers together",
			accept: number(&c.EventsRate, 1, 1000),
		},
	}
}
