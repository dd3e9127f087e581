// Package tasks wires a Worker, which delivers messages at their send times: the queue's
// server, the handlers of messages and notices, and the relay. The folders do the work.
// Package sendlimit judges which time is free, and package notifier sends.
//
// # The way of a message
//
//	Draft ─► Message ─► Submitter ─► reserve: place, record and watch entry in one script: accepted
//	                        ├──────► queue    a timer: user, id and generation, no content
//	                        └──────► confirm  watch list: look a minute past the send time
//
//	queue ─► handler: waits for the millisecond ─► claim (the gate) ─► notifier ─► settle
//
//	watch list ─► relay: what the queue does not have ─► queue, under a new generation
//
// A message.Draft is what a caller wrote, a message.Message is what it means, and a
// message.Outcome is the answer on every surface.
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
//	               └ lease over: uncertain, or sent again: OnUncertain decides
//
// Cancelled, dropped and failed messages give back their place and their id. A message
// that ended has lost its content; a dead letter keeps it.
//
// # What always holds
//
//   - Accepted means stored. Later steps may fail, the queue included, and the message
//     is not lost: the watch list names every message that has not ended, and when to
//     look after it. The relay gives an overdue message a new generation and a new
//     task, unless the queue has its task and is only behind.
//   - The record is the truth, a task is only a timer. Only the task of the present
//     generation may deliver, and no generation is used twice. So a stale task does no
//     harm, whenever and however often it fires. A retry is a new generation at a
//     later time, counted in the record, not a retry of the queue.
//   - Nothing is sent before its millisecond on the store's clock. The queue hands out
//     tasks by whole seconds, so a payload has `due`, and the handler waits for the
//     rest without asking the store. The gate checks it against the record.
//   - A late message never breaks the rules or quiet hours: it is judged anew, see
//     package sendlimit. A message on time is sent as promised, whatever the rules are
//     by then.
//   - A message's task returns to the queue only if another worker sends the message,
//     this worker stops, the message has to wait for its pace or its rules, a newer
//     program wrote the task, or the store answers with an error. This uses up no retry
//     of the queue, and no task is archived or retained.
//   - The rules live in the store. Without them nothing is accepted.
//
// # Policies, accounts, notices, paces
//
// What a message says overrides its user's policy, for instance on_conflict. Its category
// adds rules to the overall ones. Package rules follows the policies.
//
// A message of an account is charged before it is judged, see package quota. Submit, move
// and cancel hold, change and settle; the relay settles what a death left open.
//
// Notices wait in an outbox as messages do in the watch list. A task of queue.TypeAlert
// carries a notice's id, and a claim lets one delivery at a time have it.
//
// All workers share the pace of the push target. The handler waits for it before the
// claim, and a longer wait holds no delivery slot. If the gate says no, the permit is
// given back. If the claim took so long that the call would add to those of the next interval,
// the call gets another permit, or the message is given back to be judged anew.
//
// # Failures
//
//   - The store is away: a submit fails with a *fault.UnavailableError. A worker keeps
//     the tasks that it has and goes on when the store is back. The relay finds a task
//     that got lost between the two a minute past its time.
//   - A policy can't be read, as a newer program wrote it, or settings name a policy
//     that does not exist: submits under it fail, in a file, a batch or a dry run only
//     the lines of its users. Accepted messages are sent if they are on time; late
//     ones come again every half minute until a worker knows the rules. Everybody else
//     keeps the last known rules.
//   - The store is nearly full: from submit.Options.StoreFullAt on nothing more is
//     accepted. Accepted messages are delivered.
//   - Too few replicas have it in time (submit.Options.WaitReplicas): the answer is an
//     error, but the message is sent. Asking again waits again.
//   - No answer to a submit: the message may be accepted. Submit it again with the
//     same id.
//   - The queue does not take a task: the relay enqueues it ten seconds later. The queue
//     loses a task: the relay finds out a minute past its time.
//   - The provider took a message and the store is away: the worker tries to settle
//     until it is stored or the worker ends.
//   - A worker dies while it sends, or the provider gives no answer: the message may
//     or may not have arrived. WorkerOptions.OnUncertain decides: send it again with
//     the same idempotency key, or give it up as uncertain. A message that kills its
//     worker each time is given up after retry.Policy.Attempts.
//   - A notice's mail server is away: it is tried again, and is a dead letter after
//     retry.Policy.Attempts. Without an announcer it waits. A worker that dies between
//     the server's answer and its note sends the notice twice, with the same id.
//   - The machine's clock is off: the queue hands out tasks by it. Behind the store's
//     clock, tasks come late, never early.
//
// # Proofs
//
// Tests try a crash between any two calls without code in this package: submitters,
// relays and workers act only through their client and notifier, where tests put the
// crash points.
package tasks
