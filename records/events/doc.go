// Package events tells accounts what became of their messages.
//
// Every change of a message after its accept is an event: it was delivered, postponed,
// dropped, failed, ended uncertain, was moved or cancelled. The script that makes the change
// writes the event, in the same call, into a stream of the user's partition. So no crash
// loses an event or invents one, and the events of a message are in the order of its changes.
// A worker gathers them: it appends each, once, to the stream of its account, and to the one
// of all accounts.
//
//	script in the user's partition ──► sl:{p0042}:events ──► gatherer ──► sl:{e:acme}:events ──► Log.Read
//
// Scripts write events only of accounts that somebody listens to. Listeners says so: whoever
// wants events calls Listen, and again before the time given is over. Programs follow it once
// a second, so within two seconds of the first Listen every change is an event. If nobody
// listens, no event is written, and no script does anything for it.
//
// A Log keeps the events of an account for a time that is set, and at most about a number
// that is set. A reader that comes back later than that misses events. Events that nobody has
// gathered are kept as long, and at most about 10,000 of each of 1,024 partitions.
//
// An account may have a callback, a URL that its events are posted to. Callbacks knows how far
// each is. One worker at a time has the turn of an account, under a lease; it posts the events
// after the cursor and moves the cursor. So the callback gets each event at least once, and
// the first copies in the order of the log. What it does not take for a long time is dead: it
// is kept apart, and can be retried.
//
// Redis replicates asynchronously. A failover may lose the last events, as it may lose the
// changes that they tell of.
//
// The package knows no messages, notices or queues. Errors are *fault.UnavailableError,
// *fault.InvalidError and fault.ErrReply.
package events
