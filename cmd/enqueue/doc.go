// Enqueue submits messages to be sent at a future time, and shows what is scheduled.
package main
