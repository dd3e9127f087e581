// Package store knows the Redis behind everything: what its errors mean (Explain), the version of
// its layout (Layout), the address under which it is delivered (TakeAddress, ReadAddress) and how
// full it is and whether it evicts keys (ReadMemory, RefuseEviction). WatchNodes prevents a cluster node that does not answer from delaying
// callers of other nodes.
//
// It knows no key except meta, and nothing of what others store.
package store
