// Package masterclock reads the clocks of a store's masters. The masters of a cluster have clocks
// of their own, which may be seconds apart. A script judges by the clock of the master that runs
// it, so a time that a program gives to a script, or compares with one, has to be of that clock.
//
// Clocks has one storeclock.Clock for each master: OfUser and Of find the right one. It is also
// the Clock of one of them, which the queue goes by.
package masterclock
