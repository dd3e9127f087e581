// Package accounts keeps the accounts of senders, their API keys and their tiers.
//
// Accounts creates, changes, seeds and lists them, and Authenticate finds the account of an API
// key. An Account has at most MaxKeys keys, each with scopes. Only the SHA-256 of a key is stored.
// The accounts of a Tier have the same limits. All keys are in one slot of a Redis Cluster, so that
// a change is atomic. It takes effect with the next call of any process.
//
// The package knows neither charges, see package quota, nor HTTP.
//
// Errors: *fault.InvalidError for a field that is not allowed, *fault.NoSuchError for an account,
// key or tier that does not exist, *fault.UnavailableError if the store did not answer. Then no key
// is accepted.
package accounts
