// Package check is "sendlimit-worker check" and "sendlimit-worker email-preview": both try the
// settings and change nothing.
//
// Command connects to the store, the mail server and the push target at the same time and prints a
// line for each. The exit status is that of the worst failure.
package check
