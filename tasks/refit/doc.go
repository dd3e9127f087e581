// Package refit moves or cancels reservations that do not fit a policy.
//
// Preview only reports them. Run works through the partitions of the store and keeps a
// turn there: one program at a time does it, and the next continues where a stopped or
// killed one ended. Both use at most about half of the store's time.
//
// The package decides nothing about rules: records/refit finds the misfits, and a
// submit.Submitter moves and cancels them.
package refit
