package keyspace

// Sessions returns the key of the sessions of the dashboard.
func (k Keys) Sessions() string { return k.prefix + ":sessions" }
