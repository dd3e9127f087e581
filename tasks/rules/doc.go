// Package rules follows the policies in the store.
//
// Policies, one for each process, loads them when a caller finds them older than a
// second; a worker that runs loads them every second. A change goes into Rules, which
// the Timeline, the Gate and the DeadLetters of the process judge by, and is logged
// once. Settings that name a younger policy have the policies loaded at once.
//
// Refresh returns an *UnavailableError where the store has no rules or unreadable
// ones: nothing is accepted then. RefreshOrLastKnown goes on with the last rules,
// for messages that were accepted before.
//
// A WhatIf judges by rules of its own, which share nothing with the others.
//
// The package knows no queue.
package rules
