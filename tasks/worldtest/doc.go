// Package worldtest simulates the whole product from a seed, and checks all of its promises.
//
//	seed ─► Draw ─► Plan ─► Play ─► Story ─► Judge ─► the promises that were broken
//
// A Plan lists the participants, the actions of callers and operators, and the failures, as events
// at their times. It can be printed. A world has only some features, drawn by its seed: features of
// every world would hide the others.
//
// Play is the stage in one process: the programs' callers and workers share the embedded store in
// virtual time. A scheduler admits their calls to the store: it waits until all processes wait, and
// then its seed chooses the next call and its fate. The store may be down, slow, or ahead of its
// time; a reply may be lost, or a process stopped at a call for good. Goroutines can't be killed:
// the calls of a stopped process wait until the world ends, and then fail. So a world repeats with
// its seed, except for randomness within the programs, such as the order of goroutines between two
// calls.
//
// A Story has the events of a world, the same on every stage: the answers, the arrivals at the
// channels, the calls in the store's order, and each change of a timeline by a call.
//
// Judge knows the promises, and not how they are kept. verdict.go has those of a message: it is
// delivered or reported, once, and in time if it expires. verdicttimes.go checks its arrival: never
// early, late only after an outage, in order, by the pace. verdictanswers.go compares answers with
// each other, and with the user's settings. verdictrules.go replays the places in the order of the
// calls through the model of package sendlimittest, and checks the real times at each device.
// verdictphones.go checks whose messages a phone gets. verdictstore.go checks charges, alerts,
// events, the index, and that no data is left behind. CONTRIBUTING.md has a table of the promises
// and their tests.
//
// The design follows the simulators of FoundationDB and TigerBeetle.
//
// Limits: a bubble of virtual time has one clock. A wrong clock of a process shifts the time that
// the product reads; the queue's library reads the machine's clock. Clocks of a cluster's masters
// may be ahead by whole seconds, the resolution of the queue's library. Virtual time does not pass
// during a wait for a mutex: a program that holds one during a call of the store would stop its
// world. Keys may expire up to two seconds before their TTL ends.
package worldtest
