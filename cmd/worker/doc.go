// Worker is the program sendlimit-worker: it delivers scheduled messages at their time.
package main
