// Package relay finds what got lost, and hands it to the queue again.
//
// Every worker runs one. A due message on the watch list gets a new generation and a new
// task. A charge that was left open is settled by the record of its message. A pass costs
// little when nothing is due. About once an hour one of the workers looks for places whose
// messages have no record, and frees them.
package relay
