// Package queue is the one package that knows asynq. It puts the timers of
// messages and the tasks of notices into the queue, and serves them to a worker.
//
// A Queue is the queue under one prefix, or its queues. Its main parts:
//
//   - Timers sets the timers of messages, tries each second what the queue did not
//     take, and notes in the watch list what the queue has.
//   - EnqueueNotice puts a notice of the outbox into the queue.
//   - Server takes tasks and gives them to the functions of a worker.
//   - Workload and Has tell the relay what the queue still has.
//   - TasksOf finds and deletes the tasks of a user; Sizes counts tasks.
//
// A task names messages or a notice and carries no content: the record and the
// outbox hold that. The package knows no rules, no delivery and no notifier.
//
// # Several queues
//
// The keys of an asynq queue are all in one slot of a cluster, so one master has its work. A
// prefix may have several queues: Names spells them, each in another even share of the slots.
// The queue of a message is that in whose share the partition of its user lies. So the
// messages of a partition share tasks, and where the masters have even shares, a master that
// is away takes only the timers of its own users with it. Each queue has an asynq server of
// its own, which waits for no other one.
//
// The record of a message does not name its queue. The user does, and where it does not help,
// nothing needs it: the number of queues may change at any time, and programs may differ in
// it, as in a rolling upgrade. A Server also serves each queue of the prefix that has tasks
// and that its own number does not have, until it was empty for a minute. Has, TasksOf, WakeWaiting and
// Sizes look at all queues. A superseded task in the queue of another number stays, and is
// stale. A queue that is lost is replaced from the watch list.
//
// asynq keeps one list of its queues and one of its servers, each on one master. While that of
// the queues is away, a program that has just started puts nothing into the queue.
//
// # Lanes
//
// A queue hands out its tasks one after another. So that a herd of one account, which is due
// at the same time, is not in front of all others, it has lanes: queues of asynq beside the one
// that all share. What an account has of one second goes into the shared queue up to a number,
// and the rest into a lane; herds counts that, in each program for itself, since what several
// programs add up to is still little. A worker also moves messages into a lane that it finds in
// the shared queue, if most of its handlers have a task, and their account has an equal share of
// these or more: they wait for a pace, a slot or a provider. Messages in no campaign have a lane of their own,
// and the campaigns of an account share seven. So no account makes lanes without end.
//
// A Server serves each lane that has tasks to hand out, as it does queues of another number,
// with an asynq server of its own. It looks every Polling.Forward, so what another program puts
// into a new lane for now may wait that long. Which of the messages in hand
// goes next, the worker's function decides: see deliver.Slots. At most 64 lanes are served at a time;
// they take turns. The handlers are shared among them. Each has a connection of its own, on which
// asynq listens. A program uses at most 256 lanes at a time. A lane goes when it was empty for a minute.
//
// Why lanes and not an order within the queue: asynq has one list of what is due, and takes
// from its front. A worker that read on past a herd would have to hold all of it.
//
// # Batches
//
// Messages of a queue that are handed over together, and are due within 100 ms of each other, share a
// task: up to 32 of them. The worker handles them side by side, each at its own time. The
// task is done once each message is claimed or has ended, so a slow delivery holds up no
// other message. From the claim on the lease and the watch list guard a message. What has
// to come again does so in a task without the others. What was cancelled or moved meanwhile
// is stale in its batch.
//
// # Failures
//
// If the queue does not take a task, the caller gets an error, or Timers logs it. Nothing
// is lost, as the watch list and the outbox know what the queue lacks.
//
// A worker's function returns an *AgainError to get the task again later, and a
// *NotOursError to drop it. After any other error the task comes again after a short
// pause. No error uses up one of asynq's retries, so no task is ever archived.
package queue
