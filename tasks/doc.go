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
//	watch list ─► relay, in every worker: what the queue does not have ─► queue, under a new generation
//
// A Draft is what a caller spelled, a Message what it means, an Outcome the
// answer on every surface. A Submitter also cancels and moves messages; a
// Rehearsal answers as a Submitter would and leaves nothing. A Worker is the
// other half: the queue's server around the handler, and the relay.
//
// # The states of a message
//
//	             submit
//	               │         ┌───────────┐ move, retry, postponement:
//	               ▼         ▼           │ a new generation
//	cancelled ◄─ pending ────────────────┘
//	dropped   ◄────┤ ▲
//	               │ │ retry, while attempts are left
//	         claim ▼ │
//	             sending ──► delivered
//	               │   ├───► failed      ┐ dead letters, which can be
//	               │   └───► uncertain   ┘ sent after all
//	               └ lease over: uncertain, by what OnUncertain says sent again
//
// Cancelled, dropped and failed messages give back their place and their id;
// what ended has lost its content, but for dead letters.
//
// # What always holds
//
//   - Accepted means stored. What follows, the queue included, may fail without
//     the message being lost: the watch list names every message that has not
//     ended, and when to look after it. What is not settled when its time has
//     come the relay gives a new generation and puts back into the queue, unless
//     the queue has it and only has too much to do.
//   - The record is the truth, a task only a timer. Of all tasks that a message
//     has had, only the one of its present generation may deliver, and a
//     generation is never used twice, so a stale task does no harm whenever and
//     however often it fires. A retry is no retry of the queue's, but a new
//     generation at a later time, counted in the record.
//   - Nothing goes out before its millisecond on the store's clock. A payload
//     has `due`, although the record knows it better, because the queue hands
//     tasks out by whole seconds: by due the handler waits for the rest without
//     asking the store. Were it wrong, the gate would say so.
//   - Nothing late goes out against the rules, or in quiet hours: what is late,
//     since workers were down or the provider failed, is judged anew, see package
//     sendlimit. What is on time goes out as it was promised, whatever rules there
//     are by then.
//   - A task goes back to the queue only where another worker is sending the
//     message, this one stops, a newer program wrote the task, or the store
//     answers with an error. It uses up no retry of the queue's, and nothing is
//     archived or retained.
//   - The rules live in the store, and without them nothing is accepted.
//
// # Policies
//
//	store ─► Policies, one a process ─► Rules ─► Timeline, Gate and DeadLetters
//
// Policies loads the policies once a second: a worker by a clock of its own, a
// submitter when it is asked something and the last load is older. A changed policy
// goes into Rules, and is logged once. A change of a user's settings takes effect
// immediately, since the scripts compare versions, see package sendlimit. Settings
// that name a younger policy have the policies loaded at once.
//
// What a message says itself comes before its user's policy: on_conflict, for
// instance. Its category picks the rules that hold
// beside the overall ones. A Rehearsal can judge by other rules, see WhatIf.
//
// # Accounts, notices, paces
//
// A message of an account is charged to it before it is judged, see
// sendlimit.Charges: submit, move and cancel hold, change, and settle, and the
// relay settles what a death left open. A Submitter acts for one account by For.
//
// What is to be announced, alerts of quotas and daily reports, waits in an outbox
// as messages do in the watch list; a task of type TypeAlert carries its id, and
// the claim lets one delivery at a time have it. The jobs of every worker hand
// over what the queue has not, gather users' alerts by the hour, and put reports;
// each is made once however many workers run.
//
// Before it claims a message, the handler waits for the push target's pace, which
// all workers share; a delivery slot is not held through a longer wait. Where the
// gate says no, the permit is given back. Where the claim took so long that the
// call would come on top of those of the next interval, it gets another permit, or
// the message is given back to be judged anew.
//
// # Failures
//
//   - The store is away: a submit fails with an *sendlimit.UnavailableError.
//     What a worker has in hand stays there, and goes out when the store is back.
//     A task that got lost between the two the relay finds a minute past its
//     time.
//   - A policy can't be read, since a newer program wrote it, or settings name one
//     that there is not: a submit under it fails likewise, and in a file, a batch
//     or a dry run so do the lines of its users alone. What was accepted goes out if
//     it is on time; what is late comes again every half minute until a worker knows
//     the rules. Those of everybody else are the last that were known.
//   - The store is nearly full: nothing more is accepted from
//     submit.Options.StoreFullAt on, and what it has is delivered.
//   - Too few replicas have it in time (submit.Options.WaitReplicas): the answer
//     is an error, the message goes out all the same, and asking again waits again.
//   - No answer to a submit: it may have been accepted. The same message with the
//     same id can be submitted again.
//   - The queue does not take a task: the relay hands it over ten seconds later.
//     The queue loses it: the relay finds out a minute past its time.
//   - The provider took a message and the store is away: settling is tried until
//     it is stored or the worker ends.
//   - A worker dies while it sends, or the provider gives no answer: nobody knows
//     whether the message arrived. It is sent again, with the same idempotency
//     key, or given up as uncertain, as WorkerOptions.OnUncertain says. A message
//     that kills its worker each time is given up after RetryPolicy.Attempts.
//   - A notice finds no announcer, or its mail server is away: it is tried again,
//     and after RetryPolicy.Attempts is a dead letter. A worker that dies between
//     the server's answer and its note sends it twice, with the same id.
//   - The machine's clock is off: the queue hands tasks out by it, and behind the
//     store's it does so late, never early.
//
// # Proofs
//
// A crash between any two calls is tried out without a line in this package: all
// that a submitter, a relay and a worker do to the outside goes through the
// client and the notifier they are given, where tests put the crash points.
package tasks
