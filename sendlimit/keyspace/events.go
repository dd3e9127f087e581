package keyspace

// Everyone means all accounts where an account is named, in the events of messages. No account has
// this name.
const Everyone = "*"

// PartitionEvents returns the key of the events of a partition that no worker has gathered.
func (k Keys) PartitionEvents(partition int) string { return k.Partitions[partition] + "events" }

// AccountEvents returns the key of the gathered events of an account; for Everyone, of all
// accounts.
func (k Keys) AccountEvents(account string) string { return k.ofEvents(account) + "events" }

// AccountGathered returns the key of the last gathered event of each partition, for an account. It
// shares a hash tag with AccountEvents.
func (k Keys) AccountGathered(account string) string { return k.ofEvents(account) + "gathered" }

func (k Keys) ofEvents(account string) string { return k.prefix + ":{e:" + account + "}:" }

// Listeners returns the key of the accounts that have listeners for their events.
func (k Keys) Listeners() string { return k.prefix + ":listeners" }
