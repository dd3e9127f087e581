// Package deadletters is what operators do with messages that were given up, and
// with failed notices: list, read, retry and purge them.
//
// Letters joins the dead letters of the store with the rules of the store, which
// judge a retry, and with the queue, which gets the new task. If the queue does not
// take the task, the watch list has the message, and a worker's relay enqueues it.
//
// A refusal is an Outcome, not an error. Errors are those of the store, and invalid
// arguments where a method says so.
package deadletters
