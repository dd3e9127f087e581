// Package account is "worker account" and "worker tier": it creates, shows and changes
// accounts, their API keys and their tiers.
//
// A new key goes to standard output and nothing else does, so that a script can read
// it. What a person should know about the key goes to standard error.
package account
