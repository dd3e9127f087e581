// Package health is "worker health": it asks a running worker whether it is ready, for
// containers, whose image has no other program that could.
package health
