// Package policy is "sendlimit-worker policy": it lists, shows, replaces, rolls back and deletes
// the policies of a store.
//
// "policy apply" may leave scheduled messages that break the new policy. --dry-run lists them
// without a change; --then moves or cancels them. refitView prints both, for a person or as JSON.
package policy
