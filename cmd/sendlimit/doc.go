// Sendlimit is enqueue, the program of callers, under a name that can stand on a PATH.
package main
