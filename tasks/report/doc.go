// Package report keeps the numbers for daily reports.
//
// Tally adds what became of an account's messages to the numbers in the store, in
// batches. Reports puts a report for the past day into the outbox, once for each
// account, at the time that the account has set.
package report
