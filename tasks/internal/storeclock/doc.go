// Package storeclock reads the time of the store. It learns the offset between the
// local clock and the store's clock from replies, and tells the time without a round
// trip. It notices when the store's clock steps forward, and waits that out. A machine that
// was suspended is no such step, on Linux: there the local clock is CLOCK_BOOTTIME, which goes
// on meanwhile. Elsewhere it is Go's monotonic clock.
//
// The masters of a cluster have clocks of their own, which may be seconds apart. A script judges by
// the clock of the master that runs it, so a time that a program gives to a script, or compares with
// one, has to be of that clock. Clocks has a Clock for each master: OfUser and Of find the right
// one. It is also the Clock of one of them, which the queue goes by.
package storeclock
