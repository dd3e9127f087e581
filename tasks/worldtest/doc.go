// Package worldtest tells whole stories of the product from a seed, and judges them by every
// promise at once.
//
//	seed ─► Draw ─► Plan ─► Play ─► Story ─► Judge ─► the promises that were broken
//
// A Plan is who there is, what callers and operators do, and what fails, as a list of events at
// their times. It can be printed. Each world has some features only, drawn by its seed: what
// every world had would hide what few have.
//
// Play is the stage in one process: callers and workers, which are those of the programs, share
// the embedded store in virtual time. One scheduler admits the calls of all of them to the store:
// it waits until everybody waits, and then its seed chooses whose call is next, and what becomes
// of it. The store may be away, slow, or ahead of its time; the reply of a call may be lost, or a
// process be stopped at it for good. Goroutines can't be killed: the calls of a stopped process
// wait until the world ends, and fail then. So a world repeats with its seed, but for what is
// random within the programs, such as the order of goroutines between two calls.
//
// A Story is what happened, the same on every stage: the answers, the arrivals at the channels,
// the calls in the order of the store, and each change of a timeline that a call made.
//
// Judge knows the promises, and not how they are kept. verdict.go has those of a message: it is
// delivered or told, once, and told in time if it expires. verdicttimes.go has when it arrives: not
// early, late only where something was away, in order, by the pace. verdictanswers.go holds answers
// against each other, and against what the user wants. verdictrules.go replays the places in the
// order of the calls through the model of package sendlimittest, and looks at the real times at each
// device. verdictstore.go has charges, alerts, events, the index, and what must not be left behind.
// CONTRIBUTING.md has a table of the promises, and of where each is tried.
//
// The design follows the simulators of FoundationDB and TigerBeetle.
//
// Limits: a bubble of virtual time has one clock. A process whose clock is wrong has the clock that
// the product reads shifted; the queue's library reads that of the machine. Masters of a cluster may
// have clocks that are ahead, by whole seconds: the queue's library has no shorter ones. A wait for
// a mutex keeps virtual time from passing: a program that holds one during a call of the store would
// stop its world. What the store is to forget lives up to two seconds less than its TTL.
package worldtest
