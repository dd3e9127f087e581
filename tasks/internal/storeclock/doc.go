// Package storeclock reads the time of the store. It learns the offset between the
// local clock and the store's clock from replies, and tells the time without a round
// trip. It notices when the store's clock steps forward, and waits that out. A machine that
// was suspended is no such step, on Linux: there the local clock is CLOCK_BOOTTIME, which goes
// on meanwhile. Elsewhere it is Go's monotonic clock.
package storeclock
