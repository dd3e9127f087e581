// Package tasks takes messages and delivers them at their send times. It is the
// only package that knows the queue, asynq; which time is free is judged by
// package sendlimit, and how a message goes out by package notifier.
//
// # The way of a message
//
//	Draft ─► Message ─► Submitter ─► reserve: place, record and watch entry in one script: accepted
//	                        ├──────► queue    a timer: user, id and generation, no content
//	                        └──────► confirm  the watch list need not look before a minute past the send time
//
//	queue ─► handler: waits for the millisecond ─► claim (the gate) ─► notifier ─► settle
//
// A Draft is what a caller spelled, a Message what it means, an Outcome the
// answer on every surface. A Submitter also cancels and moves messages; a
// Rehearsal answers as a Submitter would and leaves nothing. A Worker is the
// other half: the queue's server around the handler.
//
// # The states of a message
//
//	             submit
//	               │         ┌───────────┐ move, retry:
//	               ▼         ▼           │ a new generation
//	cancelled ◄─ pending ────────────────┘
//	expired   ◄────┤ ▲
//	               │ │ retry, while attempts are left
//	         claim ▼ │
//	             sending ──► delivered
//	               │   └───► failed
//	               └ lease over: whoever claims next sends it again
//
// Cancelled, expired and failed messages give back their place and their id;
// whatever ended has lost its content.
//
// # What always holds
//
//   - Accepted means stored. What follows, the queue included, may fail without
//     the message being lost: the watch list names every message that has not
//     ended, and when to look after it.
//   - The record is the truth, a task only a timer. Of all tasks that a message
//     has had, only the one of its present generation may deliver, and a
//     generation is never used twice, so a stale task does no harm whenever and
//     however often it fires. A retry is no retry of the queue's, but a new
//     generation at a later time, counted in the record.
//   - Nothing goes out before its millisecond on the store's clock. A payload
//     has `due`, although the record knows it better, because the queue hands
//     tasks out by whole seconds: by due the handler waits for the rest without
//     asking the store. Were it wrong, the gate would say so.
//   - A task goes back to the queue only where another worker is sending the
//     message, this one stops, a newer program wrote the task, or the store
//     answers with an error. It uses up no retry of the queue's, and nothing is
//     archived or retained.
//   - The rules live in the store. Everybody follows them within two seconds, and
//     without them nothing is accepted.
//
// # Failures
//
//   - The store is away: a submit fails with an *sendlimit.UnavailableError.
//     What a worker has in hand stays there, and goes out when the store is back.
//     A task that got lost between the two is found by the queue itself, after up
//     to two and a half minutes.
//   - No answer to a submit: it may have been accepted. The same message with the
//     same id can be submitted again.
//   - The queue does not take a task, or loses it: the message stays on the watch
//     list past its time.
//   - The provider took a message and the store is away: settling is tried until
//     it is stored or the worker ends.
//   - A worker dies while it sends: the message is sent again when its lease is
//     over and the queue has found its task, and may arrive twice. The provider
//     gets the same idempotency key.
//   - The machine's clock is off: the queue hands tasks out by it, and behind the
//     store's it does so late, never early.
package tasks
