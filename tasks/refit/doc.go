// Package refit finds reservations that do not fit a policy, and moves or cancels them.
//
//	Finder    finds them, partition by partition, and their next free times; it changes nothing
//	Refitter  previews what a policy would leave without a place, and runs what was chosen
//
// Run works through the partitions of the store and keeps a turn there: one program at a time does
// it, and the next continues where a stopped or killed one ended, see package job. A preview and a
// run use at most about half of the store's time.
//
// The package decides nothing about rules: a script judges, and a submit.Submitter moves and
// cancels.
package refit
