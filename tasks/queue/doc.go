// Package queue is the only package that imports asynq. It puts the timers of messages and the
// tasks of notices into the queue, and serves them to a worker.
//
// A Queue is the queue under one prefix, or its queues. Its main parts:
//
//   - Timers sets the timers of messages, retries failed ones each second, and notes in the
//     watch list which messages the queue has.
//   - EnqueueNotice puts a notice of the outbox into the queue.
//   - Server takes tasks and passes them to the functions of a worker.
//   - Workload and Has tell the relay which messages the queue still has.
//   - TasksOf finds and deletes the tasks of a user; Sizes counts tasks.
//
// A task names messages or a notice and has no content: that is in the record or the outbox. The
// package knows no rules, no delivery and no notifier.
//
// # Several queues
//
// The keys of an asynq queue are all in one slot of a cluster, so one master does its work. A
// prefix may have several queues, see Names. Each has an equal share of the slots, and the messages
// of all users with a partition in its share. So the messages of a partition share tasks. If the
// masters have equal shares too, a master that is down only stops the timers of its own users.
// Each queue has its own asynq server, which waits for no other.
//
// The record of a message does not name its queue: the queue follows from the user. The number of
// queues may change at any time, and may differ between programs, as in a rolling upgrade. So a
// Server also serves other queues of the prefix that have tasks, until they were empty for a
// minute. Has, TasksOf, WakeWaiting and Sizes read all queues. A superseded task in such a queue
// stays, and is stale. A lost queue is restored from the watch list.
//
// asynq has one list of its queues and one of its servers, each on one master. While the master
// with the list of queues is down, a program that has just started puts nothing into the queue.
//
// # Lanes
//
// A queue delivers its tasks in order, so a herd (many messages of one account, due at the same
// time) would delay all others. Therefore a queue has lanes: additional asynq queues. The first
// messages of an account in each second go into the shared queue, the others into a lane. Each
// program counts separately: the sum of several programs is still small. A worker also moves
// messages from the shared queue into a lane if most of its handlers are busy and the messages'
// account has an equal share of them or more: these wait for a pace, a slot or a provider. An
// account has one lane for messages without a campaign, and seven for all its campaigns.
//
// A Server serves each lane that has due tasks with a separate asynq server, as it does queues of
// another number. It looks for lanes every Polling.Forward, so a task that another program puts
// into a new lane may wait as long. deliver.Slots decides which waiting message is sent next. At
// most 64 lanes are served at a time, in turn. They share the handlers. Each has its own
// connection, on which asynq listens. A program uses at most 256 lanes at a time. A lane is
// removed when it was empty for a minute.
//
// Why lanes and not an order within the queue: asynq has one list of due tasks, and takes the
// first. A worker that wants to read past a herd would have to hold all of it.
//
// # Batches
//
// Up to 32 messages of a queue that are handed over together, and are due within 100 ms of each
// other, share a task. The worker handles them concurrently, each at its own time. The task is
// done once each message is claimed or has ended, so a slow delivery delays no other message.
// After its claim, the lease and the watch list guard a message. Failed messages are retried in a
// task without the others. Cancelled and moved messages are stale in their batch.
//
// # Idle workers
//
// asynq polls: a worker without work would ask the store some twenty times a second. So once a queue
// had no work for a second, the client of its server answers asynq without the store, until a task
// is due, and looks every two seconds. A program that puts a task into the queue adds an entry to a
// stream, at most twice a second, and idle workers wait for one in a blocking read. They are then at
// full speed at once. A stream and no channel: it misses nothing while a connection is replaced, and
// a program that only submits needs no other right. A program of an older version does not tell: its
// tasks may wait for the look. While a worker can't wait for the stream, it polls.
//
// # What asynq has no call for
//
// Its clock: asynq takes the times of due tasks and of leases from the machine. So the client of a
// server (clock.go) replaces them by the store's in the four calls that have them, which it knows by
// their keys; otherwise a worker with a wrong clock would send early or late, and take running tasks
// from others.
//
// Why a task waits: asynq keeps only the text of its error. So WakeWaiting finds the tasks that wait
// for a pace by that text; a list of our own would differ from asynq's whenever a program dies between
// the two.
//
// The task of a message in a batch: asynq finds a task only by its id, which is that of its first
// message. So Workload lists the tasks, once a pass of the relay and only if an overdue message has no
// task of its own; beyond 20,000 tasks nothing counts as lost.
//
// A task at its time: asynq looks for due tasks, so a task is due Lead before its message, and the
// handler waits for the rest. If the relay handed messages over only a second before their time, it
// would read the watch lists of all partitions each second, also on an idle store, and a herd would
// enter the queue within that second instead of the two minutes before.
//
// # Failures
//
// If the queue does not accept a task, the caller gets an error, or Timers logs it. Nothing is
// lost: the watch list and the outbox know which tasks the queue lacks.
//
// A worker's function returns an *AgainError to get the task again later, and a *NotOursError to
// drop it. After any other error, the task is retried after a short pause. No error uses up one of
// asynq's retries, so no task is ever archived.
package queue
