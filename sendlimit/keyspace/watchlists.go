package keyspace

import "hash/fnv"

// Near returns the key of the near list of a user's partition.
func (k Keys) Near(user string) string { return k.NearOf(Partition(user)) }

// NearOf returns the key of the near list of a partition.
func (k Keys) NearOf(partition int) string { return k.Partitions[partition] + "watch" }

// FarLists is the number of far lists of a partition. With 16 of them, the watch list stays in the
// compact encoding of Redis, at most 128 entries a list, up to some two million pending messages.
// It never changes: the id of an entry decides its list.
const FarLists = 16

// Far returns the key of the far list of a message: FNV-1a 32 of the id, modulo FarLists.
func (k Keys) Far(user, id string) string { return k.FarOf(Partition(user), farList(id)) }

// farList returns the far list of an id, and its shard of the index.
func farList(id string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	return int(h.Sum32() % FarLists)
}

// FarOf returns the key of a far list of a partition; list is 0 to FarLists - 1.
func (k Keys) FarOf(partition, list int) string {
	return k.Partitions[partition] + "far:" + partLetter(list)
}

// partLetter returns how a far list, or a shard of the index, is written.
func partLetter(number int) string { return "0123456789abcdef"[number : number+1] }

// WatchLists returns the keys of all lists of a partition's watch list, the near list last. Entries
// move from the far lists to the near list, so reading in this order misses none.
func (k Keys) WatchLists(partition int) []string {
	lists := make([]string, 0, FarLists+1)
	for list := range FarLists {
		lists = append(lists, k.FarOf(partition, list))
	}
	return append(lists, k.NearOf(partition))
}
