// Package counters limits how often something happens now.
//
// Counters judges and charges several counters of a key in one script: in natural periods, or in
// windows that begin with their first use. Count counts a call or refuses it; GiveBack takes a call
// back; Peek returns what Count would answer; Reset sets counters to zero. A refusal is a Decision,
// not an error.
//
// A limit comes with each call, as a Counter, or from the store, as an Event; Events sets, lists
// and removes those. Guard counts the calls of a function or an http.Handler and refuses them
// before they run. Alert and Event.AlertAt raise an alert when a counter reaches a share of its
// limit.
//
// The package does not know accounts, timelines or messages. For messages that are sent at a later
// time use a sendlimit.Timeline. For an even flow, or for limits that apply to every window, use
// package rate.
//
// Errors: *fault.InvalidError for an argument out of bounds, *fault.UnavailableError if the store
// did not answer, fault.ErrReply if its reply makes no sense. A call whose reply got lost may have
// been counted.
package counters
