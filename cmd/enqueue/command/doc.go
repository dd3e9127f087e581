// Package command is the callers' program: its command line, and its process in Main.
// Two programs share it: enqueue, and sendlimit, whose name can stand on a PATH.
package command
