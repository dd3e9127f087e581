// Package batch works on many small items in batches, in a goroutine of its own.
// It is for work that may be lost: items are
// dropped when the backlog is full, or when the program ends while the store is away.
package batch
