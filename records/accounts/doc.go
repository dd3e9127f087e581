// Package accounts keeps the accounts that send, their API keys and their tiers.
//
// Accounts creates, changes, seeds and lists them, and Authenticate finds the
// account of an API key. An Account has at most MaxKeys keys, each with scopes;
// only the SHA-256 of a key is stored. A Tier has the limits that its accounts
// share. All of them are in one slot of a Redis Cluster, so that a change is made
// whole or not at all, and takes effect with the next call of any process.
//
// The package does not know what an account is charged, see package quota, nor
// HTTP.
//
// Errors: *fault.InvalidError for a field that is not allowed, *fault.NoSuchError
// for an account, key or tier that does not exist, *fault.UnavailableError if the
// store did not answer. While Redis is away nobody is let in.
package accounts
