// Package stats reads the state of the queue and the store: for the API's getStats and for
// worker stats.
package stats
