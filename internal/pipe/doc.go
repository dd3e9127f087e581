// Package pipe makes a net.Pipe usable as a connection to a Redis in the same process: it takes
// writes before the other side reads, and says of a closed end what a socket says.
package pipe
