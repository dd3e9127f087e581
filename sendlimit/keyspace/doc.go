// Package keyspace spells every key of a store and every member of its lists, and
// takes them apart again.
//
// Keys has the keys under a prefix. A user's keys share a hash tag, so that a
// script may use them together in a Redis Cluster; Partition says which of the
// Partitions tags. NewToken makes the random tokens that tell requests,
// deliveries and holds apart. ValidUser, ValidID and ValidName say which names
// are allowed.
//
// The package imports no Redis client and does not know what the keys hold.
// Errors are *fault.InvalidError.
package keyspace
