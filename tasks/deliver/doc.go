// Package deliver takes a due task to a settled delivery.
//
// Handler.Handle waits for one message's time, for a delivery slot and for a permit
// of the Pacer. It claims the message, which judges a late one anew, hands it to the
// notifier and settles the result: delivered, tried again later, or failed.
//
// # Recipients
//
// A message goes to the devices of its user, which the claim returns, and to the worker's
// targets; its `to` names some of them. All are asked at the same time. What is done with a
// recipient is the message's progress: an attempt after a failure goes to the others only. The
// results make one outcome:
//
//	somebody is to be tried again     retried; it counts as an attempt if one of them counts
//	else somebody got it              delivered
//	else it may have reached somebody uncertain
//	else a provider refused it        failed
//	else there is no device           dropped
//
// A message that has reached somebody counts. It goes to the others until the user's next
// message is due, and when it is late only at a time that the rules leave free.
//
// # Accounts beside each other
//
// Accounts share the delivery slots, those of each channel, and the turns to ask for a permit:
// see Slots. A free one goes to the account that has the fewest, and within it to the campaign
// that has the fewest. While several accounts are active, one has three quarters of the delivery
// slots at most. So an account that needs less than an equal share waits for no other one. What
// is read ahead of the queue is bounded there, see package queue.
//
// # Channels beside each other
//
// A worker with one channel waits for its pace, and for the end of a pause or a stop, before it
// claims a message. With several channels nobody knows beforehand which ones a message needs. So
// it is claimed, and a recipient whose channel is stopped, paused, paced or busy is put back for
// the time that this is expected to take. One channel has at most three quarters of the
// delivery slots. So a provider that never answers does not hold up the others.
//
// # Leases
//
// A claim holds a lease on the message, as long as the notifier's timeout plus a
// margin. A worker that dies leaves the message to another one, after the lease.
// While the store is away, a task stays in hand and is tried again. If only the node of a
// cluster that has the message is away, the task goes back to the queue. Neither a task in
// hand nor a result that waits to be stored has a delivery slot.
//
// The claims and settlements of concurrent deliveries share pipelines, see package pipeline.
// Each has its own error, as if it was sent alone.
//
// The package does not know the outbox: notices are delivered by package announce.
//
// # Pace
//
// All workers share the pace of all messages, PaceTarget, and that of each channel,
// ChannelPace. After a time without deliveries a rate begins at a tenth and rises to the full one
// over the channel's ramp: providers ask for that. The handler waits for the pace before the
// claim, and a longer wait holds no delivery slot. If the gate says no, the permit is
// given back. If the claim took so long that the call would add to those of the next
// interval, the call gets another permit, or the message is given back to be judged anew.
// The same goes for what a call waits for after the claim: a slot or the pace of its channel, or
// the store. A call begins when both permits are found to be in time, right before the notifier
// is called; its span starts then. Calls of one message share the permit of all messages while it
// is in time. If none begins, it is given back.
package deliver
