package keyspace

// Devices returns the key of a user's devices.
func (k Keys) Devices(user string) string {
	return k.Partitions[Partition(user)] + "d:" + user
}

// DeviceCounts returns the key of the accounts' numbers of devices of the users of a partition.
func (k Keys) DeviceCounts(partition int) string { return k.Partitions[partition] + "devices" }

// DeviceOwners returns the key of the users that have the addresses of a partition.
func (k Keys) DeviceOwners(partition int) string { return k.Partitions[partition] + "owners" }

// AccountDevices returns the key of an account's number of devices in each partition, and in all.
func (k Keys) AccountDevices(account string) string { return k.ofDevices(account) + "devices" }

// DeviceHolds returns the key of the room that is held for new devices of an account. It shares a
// hash tag with AccountDevices.
func (k Keys) DeviceHolds(account string) string { return k.ofDevices(account) + "holds" }

func (k Keys) ofDevices(account string) string { return k.prefix + ":{d:" + account + "}:" }
