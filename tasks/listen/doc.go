// Package listen follows who listens to the events of messages, and gathers the events.
//
// Every program that changes messages has a Follower: it asks the store once a second who
// listens, so that scripts write events of these accounts, and only of them. A program that
// ends soon asks once, at its start. Somebody who begins to listen gets every change from two
// seconds later on.
//
// Every worker has a Gathering. It moves events from the partitions, where scripts write
// them, to the logs that listeners read: within about 200 ms of a change that its own process
// made. About every 5 seconds one of the workers goes round all partitions, for the changes
// of programs that gather nothing and of workers that died. If nobody listens, a Gathering
// does nothing.
//
// The package knows no messages and no listener. Package records/events has the log.
package listen
