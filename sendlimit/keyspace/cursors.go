package keyspace

// CursorKey returns the key of what seals cursors, see package seal.
func (k Keys) CursorKey() string { return k.prefix + ":cursorkey" }
