package config

import "slices"

// storeSettings returns the rows of the table about the store, and about what a program is to it.
func storeSettings(w *written, c *Config) []*setting {
	return slices.Concat([]*setting{
		{
			key: "redis_url", written: &w.unprefixed.RedisURL, kind: "url", shared: true,
			help: "URL of the store: redis://, unix://, redis-sentinel:// or redis-cluster://, with TLS rediss://," +
				" rediss-sentinel:// or rediss-cluster://; without one, the embedded store",
			accept: text(&c.RedisURL), show: RedactRedisURL,
		},
	}, redisTLSSettings(w, c), []*setting{
		{
			key: "embedded_address", written: &w.EmbeddedAddress, standard: EmbeddedAddress, kind: "address", shared: true,
			help:   "address of the embedded store, for programs without a Redis URL",
			accept: embeddedAddress(&c.EmbeddedAddress),
		},
		{
			key: "prefix", written: &w.Prefix, standard: "sl", kind: "name", shared: true,
			help:   "beginning of every key and queue in the store, so that environments can share a store",
			accept: prefix(&c.Prefix),
		},
		{
			key: "account", written: &w.Account, kind: "name", shared: true, callers: true,
			help: "account that is charged for what enqueue submits; enqueue sees and changes only its messages;" +
				" empty for no account",
			accept: account(&c.Account),
		},
	})
}
