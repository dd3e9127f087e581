// Package deliver takes a due task to a settled delivery.
//
// Handler.Handle waits for one message's time, for a delivery slot and for a permit
// of the Pacer. It claims the message, which judges a late one anew, hands it to the
// notifier and settles the result: delivered, tried again later, or failed.
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
// All workers share the pace of the push target. The handler waits for it before the
// claim, and a longer wait holds no delivery slot. If the gate says no, the permit is
// given back. If the claim took so long that the call would add to those of the next
// interval, the call gets another permit, or the message is given back to be judged anew.
package deliver
