// Package keyspace spells every key of a store and every member of its lists, and parses them.
//
// Keys has the keys under a prefix. A user's keys share a hash tag, so that a script may use them
// together in a Redis Cluster; Partition returns which of the Partitions tags. NewToken creates the
// random tokens of requests, deliveries and holds. ValidUser, ValidID and ValidName check names.
//
// The package imports no Redis client and does not know what the keys hold. Errors are
// *fault.InvalidError.
package keyspace
