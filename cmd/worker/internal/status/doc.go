// Package status has "worker health", which asks a running worker whether it is ready, for
// containers, whose image has no other program that could, and "worker stats", which shows the state
// of the queue and the store.
package status
