package keyspace

// Channels returns the key of the states of the channels. It has up to three fields for a
// channel: "fcm stopped", "fcm probe" and "fcm proved".
func (k Keys) Channels() string { return k.prefix + ":channels" }
