// Package pace is "worker pace": it shows, sets and removes how fast all workers
// together call the push target.
package pace
