// Package queue is the one package that knows asynq. It puts the timers of
// messages and the tasks of notices into the queue, and serves them to a worker.
//
// A Queue is the queue under one prefix. Its main parts:
//
//   - Timers sets the timers of messages, and notes in the watch list that the
//     queue has them.
//   - EnqueueNotice puts a notice of the outbox into the queue.
//   - Server takes tasks and gives them to the functions of a worker.
//   - Workload and Has tell the relay what the queue still has.
//   - TasksOf finds and deletes the tasks of a user; Sizes counts tasks.
//
// A task names messages or a notice and carries no content: the record and the
// outbox hold that. The package knows no rules, no delivery and no notifier.
//
// # Batches
//
// Messages that are handed over together, and are due within 100 ms of each other, share a
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
