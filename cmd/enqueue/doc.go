// Enqueue is the program sendlimit: it submits messages to be sent at a future time, and shows what is scheduled.
package main
