package keyspace

// Sessions returns the key of the sessions of the dashboard, by when they end.
func (k Keys) Sessions() string { return k.prefix + ":{sessions}:ends" }

// Session returns the key of a session, whose id is the SHA-256 of its cookie.
func (k Keys) Session(id string) string { return k.prefix + ":{sessions}:" + id }
