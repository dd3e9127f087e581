package keyspace

// AuditIDs returns the key of the ids of the entries in the log of changes.
func (k Keys) AuditIDs() string { return k.prefix + ":{audit}:ids" }

// AuditEntries returns the key of the entries themselves, see lua/audit/begin.lua.
func (k Keys) AuditEntries() string { return k.prefix + ":{audit}:entries" }

// AuditOwn returns the key of the ids of an account's entries that were not refused, or not yet.
// The account "" has those of all operators.
func (k Keys) AuditOwn(account string) string { return k.prefix + ":{audit}:own:" + account }

// AuditRefusals returns the key of the ids of an account's refused changes.
func (k Keys) AuditRefusals(account string) string { return k.prefix + ":{audit}:refused:" + account }

// AuditBegun returns the key of the id of the entry with a token. It expires soon.
func (k Keys) AuditBegun(token string) string { return k.prefix + ":{audit}:begun:" + token }

// AuditEnd returns the field of the entries that says how the change of an entry ended.
func AuditEnd(id string) string { return id + " end" }

// AuditMore returns the field of the entries with the number of later refusals that have no entry.
func AuditMore(id string) string { return id + " more" }
