// Package callbacks tells accounts what became of their messages: it posts the events of an
// account to its callback URL.
//
// A Sender runs in every worker. For each account with a callback, one worker at a time has
// the turn, under a lease: it reads the events after the cursor, posts them in one signed
// request as CloudEvents, and moves the cursor. A callback that fails is tried again, later
// each time, with fewer events in a request. What it has not taken for long enough becomes a
// dead event, and the cursor moves on.
//
//	sl:{e:acme}:events ──► Take, Read ──► POST ──► Settle: cursor, or backoff ──► dead events
//
// A callback gets each event at least once. A worker that dies between POST and Settle leaves
// the turn to another when its lease ends, which posts the same events again. The first copies
// come in the order of the log, so those of one message are in the order of its changes.
//
// A Registry sets and removes callbacks, and says how far they are. Setting one makes the
// programs write events of the account; they go on for as long as events are kept after it was
// removed.
//
// The package knows no timeline and no queue. Package webhook checks addresses and signs.
package callbacks
