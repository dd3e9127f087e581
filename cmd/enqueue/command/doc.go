// Package command is the program sendlimit: its command line, and its process in Main. cmd/enqueue
// and cmd/sendlimit build it.
//
// Commands call operations through package client. Only bulk has a second way, to the submitter on a
// store. Through the client a line takes 1.7 times the processor time, as its JSON is written and
// read twice on the way, and 1.3 times the time of Redis.
package command
