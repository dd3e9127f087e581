// Package deadletters lists, reads, retries and purges messages that were given up, and
// failed notices.
//
// The rules judge a retry, and the queue gets the new task. If the queue does not accept it, the watch
// list has the message, and a worker's relay enqueues it.
//
// A refusal is an outcome, not an error. Invalid arguments are outcomes too, or errors of
// the methods that return no outcome.
package deadletters
