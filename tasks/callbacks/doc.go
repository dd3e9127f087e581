// Package callbacks posts the events of an account's messages to its callback URL.
//
// A Sender runs in every worker. For each account with a callback, one worker at a time has
// the turn, under a lease: it reads the events after the cursor, posts them in one signed
// request as CloudEvents, and moves the cursor. A callback that fails is tried again, later
// each time, with fewer events in a request. An event that it does not accept for too long becomes a
// dead event, and the cursor moves on.
//
//	sl:{e:acme}:events ──► Take, Read ──► POST ──► Settle: cursor, or backoff ──► dead events
//
// A callback gets each event at least once: if a worker dies between POST and Settle, another one
// posts the same events again after the lease. The first copies come in the order of the log, so
// those of one message are in the order of its changes.
//
// A Registry sets and removes callbacks, and returns their progress. While one is set, programs
// write events of the account, and afterwards for as long as events are kept.
//
// The package knows no timeline and no queue. Package webhook checks addresses and signs.
package callbacks
