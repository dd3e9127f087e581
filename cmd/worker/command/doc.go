// Package command is the worker: its command line, and its process in Main. The
// packages under cmd/worker/internal are its commands. Two programs share it: worker,
// and sendlimit-worker, whose name can stand on a PATH.
package command
