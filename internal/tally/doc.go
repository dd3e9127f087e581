// Package tally adds counts to hashes of the store, each once, even if a reply got lost.
//
// A Writer takes batches of counts and writes them. What it could not write stays for the
// next call. The package does not know what is counted, or by whom it is read.
package tally
