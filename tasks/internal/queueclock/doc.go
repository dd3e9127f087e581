// Package queueclock makes asynq go by the store's clock.
//
// asynq compares the times of its tasks and leases with the clock of the machine. A worker
// whose clock is behind would hand out its tasks late, one whose clock is ahead would hand
// them out early, and each would take running tasks away from the other. asynq has no
// option for its clock. So the Client stands between asynq and the store, and replaces
// the times in the calls that compare or store one:
//
//   - forward, which moves due tasks to the waiting ones;
//   - the leases of running tasks: taken, extended, and found expired.
//
// It knows these calls by their keys, and passes on all others as they are. The times of
// tasks themselves are the store's already: those of scheduled tasks are given as such,
// and to the delay of a task that comes again the queue adds the Skew of the clock.
//
// The package knows no tasks and no messages.
package queueclock
