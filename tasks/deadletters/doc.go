// Package deadletters lists, reads, retries and purges messages that were given up, and
// failed notices.
//
// DeadLetters joins the dead letters of the store with the rules, which judge a retry, and
// with the queue, which gets the new task. If the queue does not take the task, the watch
// list has the message, and a worker's relay enqueues it.
//
// A refusal is an outcome, not an error. Invalid arguments are outcomes too, or errors of
// the methods that return no outcome.
package deadletters
