package keyspace

// AuditIDs returns the key of the ids of the entries in the log of changes.
func (k Keys) AuditIDs() string { return k.prefix + ":{audit}:ids" }

// AuditEntries returns the key of the entries themselves, see lua/audit/begin.lua.
func (k Keys) AuditEntries() string { return k.prefix + ":{audit}:entries" }

// AuditBegun returns the key of the id that the entry with a token got. It expires soon.
func (k Keys) AuditBegun(token string) string { return k.prefix + ":{audit}:begun:" + token }

// AuditEnd returns the field of the entries that says how the change of an entry ended.
func AuditEnd(id string) string { return id + " end" }
