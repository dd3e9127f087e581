// Package events reports outcomes of messages to accounts.
//
// Every change of a message after its accept is an event: it was delivered, postponed, dropped,
// failed, ended uncertain, was moved or cancelled. The script that makes the change writes the
// event, in the same call, into a stream of the user's partition. So a crash neither loses nor
// invents an event, and the events of a message are in the order of its changes. A worker gathers
// them: it appends each event once to the stream of its account, and to the stream of all accounts.
//
//	script in the user's partition ──► sl:{p0042}:events ──► gatherer ──► sl:{e:acme}:events ──► Log.Read
//
// Scripts write only events of accounts with a listener. Listeners keeps these: a listener calls
// Listen, and again before the returned time. Programs read the list once a second, so that within
// two seconds of the first Listen every change is an event. Without a listener no event is written,
// and scripts have no extra work.
//
// A Log keeps the events of an account for a configured time, and at most about a configured
// number. A reader that comes back later misses events. Events that were not gathered are kept for
// the same time, and at most about 10,000 in each of 1,024 partitions.
//
// An account may have a callback, a URL that its events are posted to. Callbacks keeps the state of
// each. One worker at a time has the turn of an account, under a lease; it posts the events after
// the cursor and moves the cursor. So the callback gets each event at least once, and the first
// copies in the order of the log. Events that it does not accept for a long time become dead
// events, which can be retried.
//
// Redis replicates asynchronously. A failover may lose the last events together with their changes.
//
// The package knows neither messages nor notices nor queues. Errors are *fault.UnavailableError,
// *fault.InvalidError and fault.ErrReply.
package events
