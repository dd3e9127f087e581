package keyspace

// PermitRate returns the key of the rate of permits. All keys of a name share a hash tag.
func (k Keys) PermitRate(name string) string { return k.pace(name) + "rate" }

// Permits returns the key of the permits that all clients together have taken.
func (k Keys) Permits(name string) string { return k.pace(name) + "permits" }

// PermitsOf returns the key of the permits that a client has taken.
func (k Keys) PermitsOf(name, client string) string { return k.Permits(name) + ":" + client }

// Pause returns the key of the end of a target's pause.
func (k Keys) Pause(name string) string { return k.pace(name) + "pause" }

// Learned returns the key of the rate that a target's refusals have taught.
func (k Keys) Learned(name string) string { return k.pace(name) + "learned" }

func (k Keys) pace(name string) string { return k.prefix + ":{pace:" + name + "}:" }
