// Package relay hands messages over to the queue when they are due soon, and finds lost ones.
//
// Every worker runs one. Messages of the watch list that are due within the horizon are put into the
// queue, under their present generation; those that are due together share a task. A message that
// the queue got and lost gets a new generation and a task of its own. An open charge is settled by
// the record of its message. A pass costs little when nothing is due. About once an hour one of the
// workers frees places whose messages have no record, and sweeps the index of messages and the
// counts of accounts' devices.
package relay
