// Package channels has what a worker knows of each channel that it delivers through: whether
// it is stopped, how many devices its provider calls gone, and what is to wait a while.
package channels
