// Package tasks wires a Worker, which delivers messages at their send times: the queue's
// server, the handlers of messages and notices, and the relay. The folders do the work.
// Package sendlimit judges which time is free, and package notifier sends.
//
// # The way of a message
//
//	Draft ─► Message ─► Submitter ─► reserve: place, record and watch entry in one script: accepted
//	                        └ due within the horizon:
//	                          ├────► queue    a timer: user, id and generation, no content
//	                          └────► confirm  watch list: look a minute past the send time
//
//	watch list ─► relay: what is due within the horizon ─► queue, confirm
//
//	queue ─► handler: waits for the millisecond ─► claim (the gate) ─► notifier ─► settle
//
//	watch list ─► relay: what the queue has lost ─► queue, under a new generation
//
// A message.Draft is a caller's text, a message.Message its meaning, and a
// message.Outcome the answer on every surface.
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
//	               └ lease over, and not settled within a grace period: uncertain,
//	                 or sent again: OnUncertain decides
//
// Cancelled, dropped and failed messages give back their place and their id. A message
// that ended has lost its content; a dead letter keeps it.
//
// # What always holds
//
//   - Accepted means stored. If a later step fails, the message
//     is not lost: the watch list has every message that has not ended, and when to
//     look after it. The relay gives an overdue message a new generation and a new
//     task, unless the queue has its task and is only behind.
//   - The watch list is the schedule. The queue has only messages that are due within the horizon,
//     2 minutes by default: a cancel or a move
//     of a later message leaves nothing in it. Any number of workers hand over: a script
//     moves an entry on before the queue gets the message, so other workers skip
//     it, and if the worker dies in between, the entry is due again 10 s later. The task
//     has the generation as its id: handing over twice makes one task.
//   - The record is the truth, a task is only a timer. Only the task of the present
//     generation may deliver, and no generation is used twice. So a stale task does no
//     harm, whenever and however often it fires. A retry is a new generation at a
//     later time, counted in the record, not a retry of the queue.
//   - Nothing is sent before its millisecond on the store's clock. The queue hands out
//     tasks by whole seconds, so a payload has `due`, and the handler waits for the
//     rest without asking the store. The gate checks it against the record.
//   - A late message never breaks the rules or quiet hours: it is judged again, see
//     package sendlimit. A message on time is sent as promised, even if the rules have changed.
//   - A message's task returns to the queue only if another worker sends the message,
//     this worker stops, the message has to wait for its pace or its rules, a newer
//     program wrote the task, or the store answers with an error. This uses up no retry
//     of the queue, and no task is archived or retained.
//   - The rules live in the store. Without them nothing is accepted.
//
// What happens when the store, the queue, a worker or a provider fails is in
// FAILURES.md beside this file. Tests try a crash between any two calls: submitters,
// relays and workers act only through their client and notifier, where tests put the
// crash points.
package tasks
