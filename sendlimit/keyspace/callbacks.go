package keyspace

// AccountCallback returns the key of the state of an account's callback. It shares a hash tag with
// AccountEvents and AccountDeadEvents.
func (k Keys) AccountCallback(account string) string { return k.ofEvents(account) + "callback" }

// AccountDeadEvents returns the key of an account's events that its callback did not accept.
func (k Keys) AccountDeadEvents(account string) string { return k.ofEvents(account) + "dead" }

// Callbacks returns the key of the names of the accounts that have a callback. It shares a hash tag
// with Accounts.
func (k Keys) Callbacks() string { return k.prefix + ":{accounts}:callbacks" }
