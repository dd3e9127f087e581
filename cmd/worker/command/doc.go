// Package command is the program sendlimit-worker: its command line, and its process in Main. The
// packages under cmd/worker/internal are its commands. cmd/worker and cmd/sendlimit-worker build
// it.
package command
