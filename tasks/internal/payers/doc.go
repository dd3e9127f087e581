// Package payers caches the accounts that are charged for messages, with their
// tiers. A cached account is at most a second old.
package payers
