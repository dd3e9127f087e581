// Package batch works on many small items in batches, in a goroutine of its own.
// A caller adds an item and goes on. It is for work that may be lost: the item is
// dropped when the backlog is full or when the program ends while the store is
// away. The package does not know what the work is.
package batch
