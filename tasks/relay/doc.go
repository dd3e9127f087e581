// Package relay finds what got lost, and hands it to the queue again.
//
// Every worker repeats it. A message on the watch list whose time to look after it
// has come gets a new generation and a new task. An account's charge that was never
// settled is settled by what became of its message. A run costs little when nothing
// is due.
package relay
