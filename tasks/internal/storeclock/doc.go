// Package storeclock returns the time of the store without a round trip. It learns the offset between
// the local clock and the store's clock from replies. It notices when the store's clock steps forward,
// and waits that out. A step back it only reports, since the store's clock counts (Behind). On Linux, a
// suspension of the machine looks like no step: the local clock is CLOCK_BOOTTIME. Elsewhere it is Go's
// monotonic clock.
//
// The clocks of a cluster's masters may be seconds apart. A script judges by
// the clock of its master, so a time that a program passes to a script, or compares with
// one, has to be of that clock. Clocks has a Clock for each master: OfUser and Of find it. Clocks is
// also the Clock of the main one, which the queue uses.
package storeclock
