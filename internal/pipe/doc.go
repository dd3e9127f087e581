// Package pipe makes a net.Pipe usable as a connection to a Redis in the same process: it accepts
// writes before the other side reads, and a closed end returns the errors of a socket.
package pipe
