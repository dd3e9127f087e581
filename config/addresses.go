package config

// addressSettings returns the rows of the table about the addresses that a worker listens on.
func addressSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "listen", written: &w.Listen, standard: "127.0.0.1:8080", kind: "address",
			help:   "address of the API, and of health and metrics without admin_listen, or off",
			accept: listen(&c.Listen),
		},
		{
			key: "admin_listen", written: &w.AdminListen, kind: "address",
			help: "address of its own for /livez, /healthz, /readyz and /metrics, which need no key there;" +
				" the API's address then serves none of them",
			accept: listen(&c.AdminListen),
		},
	}
}
