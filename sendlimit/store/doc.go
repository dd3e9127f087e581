// Package store knows the Redis behind everything: what its errors mean
// (Explain), the version of its layout (Layout),
// the address under which it is delivered (TakeAddress, ReadAddress) and how full
// it is (ReadMemory). WatchNodes keeps a node of a cluster that does not answer
// from holding up callers of others.
//
// It knows no key but meta, and nothing of what others store.
package store
