// Package stats is the command "worker stats": the state of the queue and the store.
package stats
