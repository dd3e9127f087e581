package keyspace

// Paused returns the key of the paused campaigns.
func (k Keys) Paused() string { return k.prefix + ":paused" }
