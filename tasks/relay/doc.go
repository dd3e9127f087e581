// Package relay hands messages over to the queue when they are due soon, and finds what got
// lost.
//
// Every worker runs one. What the watch list has due within the horizon is put into the
// queue, under the generation that it has; what is due together shares a task. What the
// queue had already, and did not deliver, gets a new generation and a task of its own. A
// charge that was left open is settled by the record of its message. A pass costs little
// when nothing is due. About once an hour one of the workers looks for places whose
// messages have no record, and frees them. It sweeps the index of messages, and the counts of
// accounts' devices.
package relay
