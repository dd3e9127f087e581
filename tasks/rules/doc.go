// Package rules follows the policies in the store.
//
// Each process has one Policies. It loads the policies when a caller finds them older than
// a second; a running worker loads them every second. It reads only those that have changed
// since, and all of them once a minute. A change goes into Rules, by which the Timeline, the
// Gate and the DeadLetters of the process judge, and is logged once.
// Settings that name an unknown policy make it load the policies at once. So does a script
// that finds the rules older than PoliciesWithin by the store's clock: a process that was
// suspended accepts nothing by old rules.
//
// Refresh returns a *fault.UnavailableError if the store has no rules or unreadable ones:
// then nothing is accepted. RefreshOrLastKnown keeps the last known rules, for messages
// that were accepted before. WhatIf returns separate rules, for a dry run.
package rules
