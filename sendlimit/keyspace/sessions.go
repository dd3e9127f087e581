package keyspace

// SessionSecret returns the key of the secret that signs the sessions of the dashboard. Who
// removes it ends all sessions.
func (k Keys) SessionSecret() string { return k.prefix + ":sessionsecret" }

// EndedSession returns the key that says that a session was ended before its time. It expires
// when the session would have.
func (k Keys) EndedSession(id string) string { return k.prefix + ":sessionended:" + id }
