// Package refit finds reservations that do not fit a policy, and moves or cancels them.
//
//	Finder    finds them, partition by partition, and their next free times; it changes nothing
//	Refitter  does a dry run of a policy, and moves or cancels what does not fit
//
// Run works through the partitions of the store. One program at a time has the turn, and the next
// one continues a stopped or killed run, see package job. A dry run and a
// run use at most about half of the store's time.
//
// The package judges nothing: a script does, and a submit.Submitter moves and
// cancels.
package refit
