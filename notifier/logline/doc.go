// Package logline is the channel of the target "log:": it writes one line of JSON for each
// notification. It is for trials, for tests, and for programs that read a worker's standard output.
// For a provider that answers use package webhook.
//
// A line has the fields of notifier.Payload and "delivered_at". The line of a notice has "to",
// "notice" and "delivered_at".
package logline
