// Package listen follows the listeners of events, and gathers the events.
//
// Every program that changes messages has a Follower: it loads the listening accounts once a second,
// so that scripts write events only of them. A short program loads them once, at its start. A new
// listener gets every change from two seconds later on.
//
// Every worker has a Gathering. It moves events from the partitions, where scripts write
// them, to the logs that listeners read: within about 200 ms of a change of its own process.
// About every 5 seconds one of the workers gathers from all partitions the events
// of other programs and of workers that died.
package listen
