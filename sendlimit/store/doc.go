// Package store knows the Redis behind everything: what its errors mean
// (Explain), the version of its layout (CheckLayout, ReadLayout) and how full it
// is (ReadMemory).
//
// It knows no key but meta, and nothing of what others store.
package store
