// Package ledger counts single changes of accounts' messages for the daily reports: what
// operators do, one at a time. It writes each at once. Submitters and workers count many,
// and write them together.
package ledger
