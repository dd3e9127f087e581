package config

import "time"

// writtenCallbacks has the settings about events and the callbacks of accounts, as written.
type writtenCallbacks struct {
	EventsKeep          string `env:"EVENTS_KEEP"`
	EventsMost          string `env:"EVENTS_MOST"`
	EventsAllowInternal string `env:"EVENTS_ALLOW_INTERNAL"`
	EventsGiveUp        string `env:"EVENTS_GIVE_UP"`
	EventsRate          string `env:"EVENTS_RATE"`
}

// callbackSettings returns the rows of the table about events and the callbacks of accounts.
func callbackSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "events_keep", written: &w.Callbacks.EventsKeep, standard: "3d", kind: "duration",
			help:   "how long an event of a message is kept for those who listen",
			accept: duration(&c.EventsKeep, time.Minute, 31*24*time.Hour),
		},
		{
			key: "events_most", written: &w.Callbacks.EventsMost, standard: "100000", kind: "number",
			help:   "about how many events of an account are kept, the latest",
			accept: number(&c.EventsMost, 100, 10_000_000),
		},
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
