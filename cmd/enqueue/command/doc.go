// Package command is the program sendlimit: its command line, and its process in Main. cmd/enqueue
// and cmd/sendlimit build it.
package command
